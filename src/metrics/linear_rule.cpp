#include <ATen/ATen.h>

#include "metrics/layer_rules.h"

namespace batchplus {
namespace {

/// sum_i g_i x_i^T: [out,in].
torch::Tensor weight_gradient(const torch::Tensor& x, const torch::Tensor& g) {
  return g.t().mm(x);
}

}  // namespace

// A sample's weight gradient is g_i x_i^T, whose norm is the product of the two norms; its bias gradient is
// g_i.
SampleLayerGradients linear_sample_gradients(const LayerPass& pass) {
  const torch::Tensor& x = pass.input;
  const torch::Tensor& g = pass.output_gradient;
  const torch::Tensor g_squared = squared_row_norms(g);
  return {{weight_gradient(x, g), g.sum(0)}, squared_row_norms(x) * g_squared + g_squared};
}

LayerGradients linear_gradient_tangent(const LayerPass& pass, const LayerPass& tangent) {
  torch::Tensor weight = weight_gradient(pass.input, tangent.output_gradient);
  if (tangent.input.defined()) weight += weight_gradient(tangent.input, pass.output_gradient);
  return {weight, tangent.output_gradient.sum(0)};
}

}  // namespace batchplus
