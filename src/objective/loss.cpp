#include "objective/loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cross_entropy.h"
#include "kernels/processor.h"
#include "kernels/tensors.h"

namespace batchplus {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Has a first derivative only.
class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& labels,
                        double smoothing) {
    const Tensor z = logits.contiguous();
    const Tensor gradient = at::empty_like(z);
    const Tensor own_labels = labels.contiguous();
    const double loss = kernels::mean_cross_entropy(
        z.size(0), z.size(1), kernels::data_of(z),
        {.labels = own_labels.data_ptr<int64_t>(), .smoothing = smoothing}, kernels::data_of(gradient));
    context->save_for_backward({gradient});
    const Tensor result = at::empty({}, z.options());
    *kernels::data_of(result) = static_cast<float>(loss);
    return result;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {context->get_saved_variables()[0] * gradients[0], Tensor(), Tensor()};
  }
};

}  // namespace

torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, Kernels kernels,
                                 double smoothing) {
  if (kernels != Kernels::kAten && kernels::are_available() && kernels::take(logits))
    return CrossEntropyFunction::apply(logits, labels, smoothing);
  if (smoothing > 0) {
    return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, /*ignore_index=*/-100,
                                  smoothing);
  }
  return at::nll_loss(at::log_softmax(logits, 1), labels);
}

// log sum_k exp(z_k) - z_label. libtorch 1.13 has no forward derivative of log_softmax's and nll_loss's
// backward.
torch::Tensor cross_entropies(const torch::Tensor& logits, const torch::Tensor& labels) {
  const torch::Tensor shifted = logits - logits.detach().amax(1, /*keepdim=*/true);
  return shifted.exp().sum(1).log() - shifted.gather(1, labels.unsqueeze(1)).squeeze(1);
}

}  // namespace batchplus
