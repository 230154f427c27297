#include "layers/initialization.h"

#include <cmath>

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

void kaiming_normal_fan_in(torch::Tensor weight) {
  weight.normal_(0, std::sqrt(2.0) / std::sqrt(static_cast<double>(weight.numel() / weight.size(0))));
}

void normal_fan_out(torch::Tensor weight) {
  weight.normal_(0, std::sqrt(2.0 / static_cast<double>(weight.numel() / weight.size(1))));
}

Fill normal(double deviation) {
  return [deviation](torch::Tensor parameter) { parameter.normal_(0, deviation); };
}

void zeros(torch::Tensor parameter) {
  parameter.zero_();
}

}  // namespace fill

}  // namespace batchplus
