#pragma once

#include <memory>
#include <vector>

#include "layers/make_normalization.h"

namespace batchplus {

class DenseLayer;

/// Layers that each put their `growth` maps behind those they read:
///   [N,in,H,W] to [N, in + layers * growth, H,W]
/// A basic layer is BN-ReLU-conv3x3(growth), a bottleneck BN-ReLU-conv1x1(4 growth)-BN-ReLU-conv3x3(growth).
/// Its layers are the modules layer.0, layer.1, ... with bn1, conv1, bn2, conv2.
class DenseBlock : public torch::nn::Module {
 public:
  struct Options {
    int64_t in = 0;
    int64_t layers = 0;
    int64_t growth = 0;
    bool is_bottleneck = false;
    /// After each convolution.
    double dropout = 0;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit DenseBlock(const Options& options);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::vector<std::shared_ptr<DenseLayer>> layers_;
};

}  // namespace batchplus
