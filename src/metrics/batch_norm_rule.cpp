#include <ATen/ATen.h>

#include "core/cpu_dispatch.h"
#include "metrics/layer_rules.h"

namespace batchplus {
namespace {

bool has_dense_pixels(const torch::Tensor& maps) {
  return maps.is_cpu() && maps.scalar_type() == torch::kFloat32 &&
         maps.is_contiguous(torch::MemoryFormat::ChannelsLast);
}

/// For one sample: slope[c] = sum_t g[t][c] (x[t][c] - mean[c]), shift[c] = sum_t g[t][c].
[[gnu::always_inline]] inline void add_pixels(const float* __restrict x, const float* __restrict g,
                                              const float* __restrict mean, int64_t pixels, int64_t channels,
                                              float* __restrict slope, float* __restrict shift) {
  for (int64_t t = 0; t < pixels; ++t, x += channels, g += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      slope[c] += g[c] * (x[c] - mean[c]);
      shift[c] += g[c];
    }
  }
}

[[gnu::always_inline]] inline void add_pixels(const float* __restrict g, int64_t pixels, int64_t channels,
                                              float* __restrict shift) {
  for (int64_t t = 0; t < pixels; ++t, g += channels) {
    for (int64_t c = 0; c < channels; ++c) shift[c] += g[c];
  }
}

struct ChannelSums {
  /// sum over pixels of g (x - mean): [N,C].
  torch::Tensor slope;
  /// sum over pixels of g: [N,C].
  torch::Tensor shift;
};

/// x, g: [N,C,H,W], mean: [C].
ChannelSums channel_sums(const torch::Tensor& x, const torch::Tensor& g, const torch::Tensor& mean) {
  if (!has_dense_pixels(x) || !has_dense_pixels(g)) {
    return {((x - mean.view({1, -1, 1, 1})) * g).sum({2, 3}), g.sum({2, 3})};
  }
  const int64_t channels = x.size(1);
  const int64_t pixels = x.size(2) * x.size(3);
  const ChannelSums sums{torch::zeros({x.size(0), channels}), torch::zeros({x.size(0), channels})};
  const float* values = x.data_ptr<float>();
  const float* gradients = g.data_ptr<float>();
  const float* means = mean.data_ptr<float>();
  float* slope = sums.slope.data_ptr<float>();
  float* shift = sums.shift.data_ptr<float>();
  at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t i = begin; i < end; ++i) {
        add_pixels(values + i * pixels * channels, gradients + i * pixels * channels, means, pixels, channels,
                   slope + i * channels, shift + i * channels);
      }
    });
  });
  return sums;
}

torch::Tensor inverse_deviation(const BatchNorm::Moments& moments) {
  return (moments.variance + BatchNorm::kEpsilon).rsqrt();
}

}  // namespace

// With fixed statistics y = weight * (x - mean) / deviation + bias, channel by channel.
SampleLayerGradients batch_norm_sample_gradients(const LayerPass& pass) {
  const auto moments = static_cast<const BatchNorm&>(pass.layer).evaluation_moments(pass.input);
  const ChannelSums sums = channel_sums(pass.input, pass.output_gradient, moments.mean);
  const torch::Tensor weight = sums.slope * inverse_deviation(moments);
  return {{weight.sum(0), sums.shift.sum(0)}, squared_row_norms(weight) + squared_row_norms(sums.shift)};
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

torch::Tensor sum_over_pixels(const torch::Tensor& maps) {
  if (!has_dense_pixels(maps)) return maps.sum({2, 3});
  const int64_t channels = maps.size(1);
  const int64_t pixels = maps.size(2) * maps.size(3);
  const torch::Tensor sums = torch::zeros({maps.size(0), channels});
  const float* values = maps.data_ptr<float>();
  float* sum = sums.data_ptr<float>();
  at::parallel_for(0, maps.size(0), 1, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t i = begin; i < end; ++i) {
        add_pixels(values + i * pixels * channels, pixels, channels, sum + i * channels);
      }
    });
  });
  return sums;
}

}  // namespace batchplus
