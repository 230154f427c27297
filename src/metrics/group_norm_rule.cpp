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

// The tangent of x^: with t that of x, (t - mean(t) - x^ mean(x^ t)) / deviation, means over the group.
LayerGradients group_norm_gradient_tangent(const LayerPass& pass, const LayerPass& tangent) {
  const auto& layer = static_cast<const GroupNorm&>(pass.layer);
  const GroupNorm::Normalized x = layer.normalize(pass.input);
  const ChannelSums sums = sums_of(x.groups.reshape(pass.input.sizes()), tangent.output_gradient);
  torch::Tensor weight = sums.slope.sum(0);
  if (tangent.input.defined()) {
    const torch::Tensor t = layer.grouped(tangent.input);
    const torch::Tensor moved =
        (t - GroupNorm::group_means(t) - x.groups * GroupNorm::group_means(x.groups * t)) *
        x.inverse_deviation;
    weight += sums_of(moved.reshape(pass.input.sizes()), pass.output_gradient).slope.sum(0);
  }
  return {weight, sums.shift.sum(0)};
}

}  // namespace batchplus
