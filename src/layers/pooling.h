#pragma once

#include "layers/layer.h"

// Qualified names keep them apart from ATen's.
namespace batchplus::ops {

/// Windows of `side` x `side` beside each other. `kernels`: those of the layer before. Own ones can be
/// differentiated twice; those for the maximum have libtorch's bits.
torch::Tensor max_pool(const torch::Tensor& x, int64_t side, Kernels kernels);
torch::Tensor average_pool(const torch::Tensor& x, int64_t side, Kernels kernels);
/// The mean over each whole map: [N,C,H,W] to [N,C].
torch::Tensor global_average_pool(const torch::Tensor& x, Kernels kernels);

}  // namespace batchplus::ops
