#include "objective/loss.h"

#include <ATen/ATen.h>

#include "core/tangent.h"
#include "core/torch_versions.h"
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
  static Tensor forward(AutogradContext* context, const Tensor& logits, const LossTargets& targets) {
    const Tensor z = logits.contiguous();
    const Tensor gradient = at::empty_like(z);
    const Tensor labels = targets.labels.contiguous();
    const bool has_partners = targets.partner_labels.defined();
    const Tensor partners = has_partners ? targets.partner_labels.contiguous() : labels;
    const kernels::Targets of_kernel{.labels = labels.data_ptr<int64_t>(),
                                     .partners = has_partners ? partners.data_ptr<int64_t>() : nullptr,
                                     .share = targets.label_share,
                                     .smoothing = targets.smoothing};
    const double loss = kernels::mean_cross_entropy(z.size(0), z.size(1), kernels::data_of(z), of_kernel,
                                                    kernels::data_of(gradient));
    context->save_for_backward({gradient});
    const Tensor result = at::empty({}, z.options());
    *kernels::data_of(result) = static_cast<float>(loss);
    return result;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {context->get_saved_variables()[0] * gradients[0], Tensor()};
  }
};

Tensor mean_cross_entropy_aten(const Tensor& logits, const Tensor& labels, double smoothing) {
  if (smoothing == 0) return at::nll_loss(at::log_softmax(logits, 1), labels);
  constexpr int64_t kIgnoreNone = -100;
  return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, kIgnoreNone, smoothing);
}

class CrossEntropiesFunction : public torch::autograd::Function<CrossEntropiesFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& labels) {
    const Tensor z = logits.contiguous();
    const Tensor gradient = at::empty_like(z);
    const Tensor losses = at::empty({z.size(0)}, z.options());
    kernels::cross_entropies(z.size(0), z.size(1), kernels::data_of(z),
                             labels.contiguous().data_ptr<int64_t>(), kernels::data_of(losses),
                             kernels::data_of(gradient));
    context->save_for_backward({logits, labels, gradient});
    return losses;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor g = gradients[0].unsqueeze(1);
    if (!torch::GradMode::is_enabled()) return {saved[2] * g, Tensor()};
    // The same by libtorch, which can differentiate it.
    const Tensor& logits = saved[0];
    const Tensor truth = at::one_hot(saved[1], logits.size(1)).to(logits.scalar_type());
    return {(at::softmax(logits, 1) - truth) * g, Tensor()};
  }
};

/// The losses and their derivatives along tangents of the logits. Has a first derivative only.
class DualCrossEntropiesFunction : public torch::autograd::Function<DualCrossEntropiesFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& logits, const Tensor& logits_tangent,
                               const Tensor& labels) {
    const Tensor z = logits.contiguous();
    const Tensor t = logits_tangent.contiguous();
    const Tensor classes = labels.contiguous();
    const Tensor losses = at::empty({z.size(0)}, z.options());
    const Tensor tangents = at::empty_like(losses);
    const Tensor gradient = at::empty_like(z);
    const Tensor second = at::empty_like(z);
    kernels::cross_entropies(z.size(0), z.size(1), kernels::data_of(z), classes.data_ptr<int64_t>(),
                             kernels::data_of(losses), kernels::data_of(gradient));
    kernels::cross_entropy_tangents(z.size(0), z.size(1), kernels::data_of(gradient),
                                    classes.data_ptr<int64_t>(), kernels::data_of(t),
                                    kernels::data_of(tangents), kernels::data_of(second));
    context->save_for_backward({gradient, second});
    return {losses, tangents};
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor of_losses = gradients[0].unsqueeze(1);
    const Tensor of_tangents = gradients[1].unsqueeze(1);
    return {saved[0] * of_losses + saved[1] * of_tangents, saved[0] * of_tangents, Tensor()};
  }
};

Tensor own_cross_entropies(const Tensor& logits, const Tensor& labels) {
  if (!tangent::exists(logits)) return CrossEntropiesFunction::apply(logits, labels);
  const variable_list dual =
      DualCrossEntropiesFunction::apply(tangent::value_of(logits), tangent::of(logits), labels);
  return tangent::join(dual[0], dual[1]);
}

}  // namespace

torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const LossTargets& targets, Kernels kernels) {
  const bool is_own = kernels != Kernels::kAten && kernels::are_available() && kernels::take(logits);
  if (is_own && !tangent::exists(logits)) return CrossEntropyFunction::apply(logits, targets);
  const Tensor loss = mean_cross_entropy_aten(logits, targets.labels, targets.smoothing);
  if (!targets.partner_labels.defined()) return loss;
  const Tensor of_partners = mean_cross_entropy_aten(logits, targets.partner_labels, targets.smoothing);
  return targets.label_share * loss + (1 - targets.label_share) * of_partners;
}

// log sum_k exp(z_k) - z_label.
torch::Tensor cross_entropies(const torch::Tensor& logits, const torch::Tensor& labels) {
  const torch::Tensor shifted = logits - logits.detach().amax(1, /*keepdim=*/true);
  return shifted.exp().sum(1).log() - shifted.gather(1, labels.unsqueeze(1)).squeeze(1);
}

SampleLoss cross_entropies_by(Kernels kernels) {
  if (kernels == Kernels::kAten || !kernels::are_available()) return cross_entropies;
  return [](const torch::Tensor& logits, const torch::Tensor& labels) {
    return kernels::take(logits) ? own_cross_entropies(logits, labels) : cross_entropies(logits, labels);
  };
}

}  // namespace batchplus
