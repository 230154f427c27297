#include <ATen/ATen.h>

#include "kernels/linear.h"
#include "kernels/tensors.h"
#include "metrics/layer_rules.h"

namespace batchplus {
namespace {

/// sum_i g_i x_i^T: [out,in].
torch::Tensor weight_gradient(const torch::Tensor& x, const torch::Tensor& g) {
  return g.t().mm(x);
}

/// The same, and sum_i g_i, by the kernels that compute the layer.
LayerGradients summed_gradients(const LayerPass& pass) {
  if (!pass.layer.uses_own_kernels(pass.input)) {
    return {weight_gradient(pass.input, pass.output_gradient), pass.output_gradient.sum(0)};
  }
  const torch::Tensor x = pass.input.contiguous();
  const torch::Tensor g = pass.output_gradient.contiguous();
  const LayerGradients sum{GradientTarget::tensor_for(pass.layer.weight()), torch::empty({g.size(1)})};
  kernels::linear_backward({x.size(0), x.size(1), g.size(1)},
                           {.x = kernels::data_of(x),
                            .y_gradient = kernels::data_of(g),
                            .weight_gradient = kernels::data_of(sum.weight),
                            .bias_gradient = kernels::data_of(sum.bias)});
  return sum;
}

}  // namespace

// A sample's weight gradient is g_i x_i^T, whose norm is the product of the two norms; its bias gradient is
// g_i.
SampleLayerGradients linear_sample_gradients(const LayerPass& pass) {
  const torch::Tensor& x = pass.input;
  const torch::Tensor& g = pass.output_gradient;
  const torch::Tensor g_squared = squared_row_norms(g);
  return {summed_gradients(pass), squared_row_norms(x) * g_squared + g_squared};
}

}  // namespace batchplus
