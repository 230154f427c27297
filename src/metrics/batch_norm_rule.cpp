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

}  // namespace batchplus
