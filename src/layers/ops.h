#pragma once

#include "core/torch.h"

// Functions without parameters. Qualified names keep them apart from ATen's.
namespace batchplus::ops {

/// Zeroes with probability p and scales the rest by 1/(1-p), in training.
torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training);
/// Every second pixel, with `channels` zero maps in front and behind: [N,C,H,W] to [N,C+2*channels,H/2,W/2].
torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels);

}  // namespace batchplus::ops
