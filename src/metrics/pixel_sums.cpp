#include "metrics/pixel_sums.h"

#include <ATen/ATen.h>

#include "kernels/pixel_sums.h"
#include "kernels/tensors.h"

namespace batchplus {
namespace {

bool has_kernels(const torch::Tensor& maps) {
  return kernels::take(maps) && maps.is_contiguous(kernels::kChannelsLast);
}

torch::Tensor empty_sums(const torch::Tensor& maps) {
  return torch::empty({maps.size(0), maps.size(1)});
}

}  // namespace

torch::Tensor sum_over_pixels(const torch::Tensor& maps) {
  if (!has_kernels(maps)) return maps.sum({2, 3});
  const torch::Tensor sums = empty_sums(maps);
  kernels::sum_pixels(kernels::maps_of(maps), sums.data_ptr<float>());
  return sums;
}

ChannelSums channel_sums(const torch::Tensor& x, const torch::Tensor& g, const torch::Tensor& mean) {
  if (!has_kernels(x) || !has_kernels(g)) {
    return {((x - mean.view({1, -1, 1, 1})) * g).sum({2, 3}), g.sum({2, 3})};
  }
  const ChannelSums sums{empty_sums(x), empty_sums(x)};
  kernels::sum_pixels(kernels::maps_of(x), kernels::maps_of(g), mean.data_ptr<float>(),
                      sums.slope.data_ptr<float>(), sums.shift.data_ptr<float>());
  return sums;
}

}  // namespace batchplus
