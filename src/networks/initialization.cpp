#include "networks/initialization.h"

#include <ATen/ATen.h>

#include <cmath>

#include "networks/layers.h"

namespace batchplus {
namespace {

template <class Action>
void for_each_layer(torch::nn::Module& module, const Action& action) {
  const torch::NoGradGuard no_grad;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (const auto* layer = dynamic_cast<Layer*>(part.get())) action(*layer);
  }
}

void fill_normal(const torch::Tensor& weight, double deviation) {
  torch::Tensor(weight).normal_(0, deviation);
}

void fill_zero(const torch::Tensor& bias) {
  if (bias.defined()) torch::Tensor(bias).zero_();
}

/// sqrt(2 / (kernel^2 out)), of a weight [out,in,kernel,kernel].
double fan_out_deviation(const torch::Tensor& weight) {
  return std::sqrt(2.0 / static_cast<double>(weight.numel() / weight.size(1)));
}

}  // namespace

void init_kaiming_normal_fan_in(torch::nn::Module& module) {
  for_each_layer(module, [](const Layer& layer) {
    if (layer.kind() == Layer::Kind::kBatchNorm) return;
    const torch::Tensor& weight = layer.weight();
    fill_normal(weight, std::sqrt(2.0) / std::sqrt(static_cast<double>(weight.numel() / weight.size(0))));
  });
}

void init_normal_fan_out(torch::nn::Module& module) {
  for_each_layer(module, [](const Layer& layer) {
    if (layer.kind() == Layer::Kind::kBatchNorm) return;
    const bool is_convolution = layer.kind() == Layer::Kind::kConvolution;
    fill_normal(layer.weight(), is_convolution ? fan_out_deviation(layer.weight()) : 0.01);
    fill_zero(layer.bias());
  });
}

void init_normal_convolutions(torch::nn::Module& module) {
  for_each_layer(module, [](const Layer& layer) {
    if (layer.kind() == Layer::Kind::kConvolution)
      fill_normal(layer.weight(), fan_out_deviation(layer.weight()));
    if (layer.kind() == Layer::Kind::kLinear) fill_zero(layer.bias());
  });
}

}  // namespace batchplus
