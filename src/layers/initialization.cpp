#include "layers/initialization.h"

#include <cmath>

#include "kernels/random_fill.h"
#include "kernels/tensors.h"
#include "layers/layer.h"

namespace batchplus {

void Initialization::Parameters::apply(const torch::Tensor& layer_weight,
                                       const torch::Tensor& layer_bias) const {
  if (weight) weight(layer_weight);
  if (bias && layer_bias.defined()) bias(layer_bias);
}

void initialize(torch::nn::Module& module, const Initialization& scheme) {
  const torch::NoGradGuard no_grad;
  for (Layer* layer : layers_of(module)) layer->initialize(scheme);
}

namespace fill {

void uniform(torch::Tensor parameter, double bound) {
  const auto limit = static_cast<float>(bound);
  parameter.uniform_(0, 1);
  kernels::scale_uniform(kernels::data_of(parameter), parameter.numel(), -limit, limit);
}

namespace {

/// PyTorch's normal_ within a rounding, with the same bits on every machine (kernels/random_fill.h).
void fill_normal(torch::Tensor& parameter, double deviation) {
  constexpr int64_t kBlock = 16;
  if (parameter.numel() < kBlock || !parameter.is_contiguous() || !kernels::take(parameter)) {
    parameter.normal_(0, deviation);
    return;
  }
  parameter.uniform_(0, 1);
  torch::Tensor last;
  if (parameter.numel() % kBlock != 0) last = torch::empty({kBlock}, parameter.options()).uniform_(0, 1);
  kernels::uniform_to_normal(kernels::data_of(parameter), parameter.numel(), kernels::data_of(last),
                             deviation);
}

}  // namespace

void kaiming_normal_fan_in(torch::Tensor weight) {
  fill_normal(weight, std::sqrt(2.0) / std::sqrt(static_cast<double>(weight.numel() / weight.size(0))));
}

void normal_fan_out(torch::Tensor weight) {
  fill_normal(weight, std::sqrt(2.0 / static_cast<double>(weight.numel() / weight.size(1))));
}

Fill normal(double deviation) {
  return [deviation](torch::Tensor parameter) { fill_normal(parameter, deviation); };
}

void zeros(torch::Tensor parameter) {
  parameter.zero_();
}

}  // namespace fill

}  // namespace batchplus
