#include <ATen/ATen.h>

#include "layers/batch_norm.h"
#include "metrics/layer_rules.h"
#include "metrics/pixel_sums.h"

namespace batchplus {
namespace {

torch::Tensor inverse_deviation(const BatchNorm::Moments& moments) {
  return (moments.variance + BatchNorm::kEpsilon).rsqrt();
}

}  // namespace

// With fixed statistics y = weight * (x - mean) / deviation + bias, channel by channel.
SampleLayerGradients batch_norm_sample_gradients(const LayerPass& pass) {
  if (pass.sample_weights.defined()) return gradients_of_samples(pass.sample_weights, pass.sample_biases);
  const auto moments = static_cast<const BatchNorm&>(pass.layer).evaluation_moments(pass.input);
  const ChannelSums sums = channel_sums(pass.input, pass.output_gradient, moments.mean);
  return gradients_of_samples(sums.slope * inverse_deviation(moments), sums.shift);
}

LayerGradients batch_norm_gradient_tangent(const LayerPass& pass, const LayerPass& tangent) {
  const auto moments = static_cast<const BatchNorm&>(pass.layer).evaluation_moments(pass.input);
  const ChannelSums sums = channel_sums(pass.input, tangent.output_gradient, moments.mean);
  torch::Tensor slope = sums.slope.sum(0);
  if (tangent.input.defined()) {
    const torch::Tensor no_mean = torch::zeros_like(moments.mean);
    slope += channel_sums(tangent.input, pass.output_gradient, no_mean).slope.sum(0);
  }
  return {slope * inverse_deviation(moments), sums.shift.sum(0)};
}

}  // namespace batchplus
