#include <ATen/ATen.h>

#include "layers/group_norm.h"
#include "metrics/layer_rules.h"
#include "metrics/pixel_sums.h"

namespace batchplus {
namespace {

/// The sums over pixels of g x^ and of g.
ChannelSums sums_of(const torch::Tensor& normalized, const torch::Tensor& g) {
  return channel_sums(normalized, g, torch::zeros({g.size(1)}, g.options().memory_format(c10::nullopt)));
}

}  // namespace

// y = weight * x^ + bias, channel by channel, with x^ of the sample alone.
SampleLayerGradients group_norm_sample_gradients(const LayerPass& pass) {
  const auto& layer = static_cast<const GroupNorm&>(pass.layer);
  const torch::Tensor normalized = layer.normalize(pass.input).groups.reshape(pass.input.sizes());
  const ChannelSums sums = sums_of(normalized, pass.output_gradient);
  return gradients_of_samples(sums.slope, sums.shift);
}

}  // namespace batchplus
