#include "objective/loss.h"

#include <ATen/ATen.h>

namespace batchplus {

torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return at::nll_loss(at::log_softmax(logits, 1), labels);
}

// log sum_k exp(z_k) - z_label. libtorch 1.13 has no forward derivative of log_softmax's and nll_loss's
// backward.
torch::Tensor cross_entropies(const torch::Tensor& logits, const torch::Tensor& labels) {
  const torch::Tensor shifted = logits - logits.detach().amax(1, /*keepdim=*/true);
  return shifted.exp().sum(1).log() - shifted.gather(1, labels.unsqueeze(1)).squeeze(1);
}

}  // namespace batchplus
