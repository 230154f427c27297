#pragma once

#include <vector>

#include "kernels/convolution.h"
#include "layers/batch_norm_coefficients.h"
#include "layers/layer.h"

namespace batchplus {

/// What a layer of a dense block has. Basic: BN, ReLU, convolution. Bottleneck: twice.
struct DenseLayerParts {
  struct Stage {
    BatchNormParts norm;
    torch::Tensor weight;
    const Layer* norm_layer = nullptr;
    const Layer* convolution = nullptr;
  };
  /// One or two; convolutions with stride 1 that keep the size.
  std::vector<Stage> stages;
};

/// Puts each layer's maps behind its input's: [N,C,H,W] to [N,C + sum of the layers' maps,H,W]. All layers
/// read and write one tensor, and the moments of maps are taken once for all the layers that normalise them.
/// BatchNorms go by the batch's moments and move the running ones.
torch::Tensor dense_block(const torch::Tensor& x, const std::vector<DenseLayerParts>& layers,
                          bool may_use_winograd);

/// How one convolution of a block is computed: filters `weight` on maps as large as `maps`.
struct DenseStep {
  DenseStep(const torch::Tensor& weight, const torch::Tensor& maps, bool may_use_winograd);
  kernels::ConvolutionGeometry geometry;
  kernels::ConvolutionAlgorithm algorithm;
};

}  // namespace batchplus
