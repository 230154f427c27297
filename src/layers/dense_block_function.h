#pragma once

#include <vector>

#include "layers/batch_norm_coefficients.h"

namespace batchplus {

/// What a layer of a dense block has. Basic: BN, ReLU, convolution. Bottleneck: twice.
struct DenseLayerParts {
  struct Stage {
    BatchNormParts norm;
    torch::Tensor weight;
  };
  /// One or two; convolutions with stride 1 that keep the size.
  std::vector<Stage> stages;
};

/// Puts each layer's maps behind its input's: [N,C,H,W] to [N,C + sum of the layers' maps,H,W]. All layers
/// read and write one tensor, and the moments of maps are taken once for all the layers that normalise them.
/// BatchNorms go by the batch's moments and move the running ones with is_training, otherwise by the running
/// ones, without derivatives.
torch::Tensor dense_block(const torch::Tensor& x, const std::vector<DenseLayerParts>& layers,
                          bool is_training, bool may_use_winograd);

}  // namespace batchplus
