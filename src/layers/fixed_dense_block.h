#pragma once

#include "layers/dense_block_function.h"

namespace batchplus {

/// dense_block in evaluation mode: the BatchNorms go by their running moments. Has a derivative with respect
/// to x alone; the layers' watchers are shown their gradients in its backward pass.
torch::Tensor fixed_dense_block(const torch::Tensor& x, const std::vector<DenseLayerParts>& layers,
                                bool may_use_winograd);

}  // namespace batchplus
