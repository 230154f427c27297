#pragma once

#include "core/torch.h"

namespace batchplus {

/// The sum over a sample's pixels for each channel of [N,C,H,W]: [N,C].
torch::Tensor sum_over_pixels(const torch::Tensor& maps);

struct ChannelSums {
  /// sum over pixels of g (x - mean): [N,C].
  torch::Tensor slope;
  /// sum over pixels of g: [N,C].
  torch::Tensor shift;
};

/// x, g: [N,C,H,W], mean: [C].
ChannelSums channel_sums(const torch::Tensor& x, const torch::Tensor& g, const torch::Tensor& mean);

}  // namespace batchplus
