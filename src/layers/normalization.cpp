#include "layers/normalization.h"

#include <ATen/ops/relu.h>

namespace batchplus {

void NormalizationLayer::register_unit(int64_t channels) {
  weight_ = register_parameter("weight", torch::ones({channels}));
  bias_ = register_parameter("bias", torch::zeros({channels}));
}

torch::Tensor NormalizationLayer::add_relu(const torch::Tensor& x, const torch::Tensor& shortcut) {
  torch::Tensor y = forward(x);
  torch::Tensor sum = is_observed() || tangent::exists(y) ? y + shortcut : y.add_(shortcut);
  return tangent::exists(sum) ? at::relu(sum) : at::relu_(sum);
}

}  // namespace batchplus
