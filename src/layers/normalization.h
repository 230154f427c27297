#pragma once

#include "layers/layer.h"

namespace batchplus {

/// A layer that normalises maps: [N,C,H,W], then scales and shifts each channel. It multiplies no matrices,
/// and begins with weight 1 and bias 0 whatever a network draws for its other layers.
class NormalizationLayer : public Layer {
 public:
  /// max(0, forward(x) + shortcut)
  virtual torch::Tensor add_relu(const torch::Tensor& x, const torch::Tensor& shortcut);

  int64_t macs(const torch::Tensor&) const final { return 0; }
  void initialize(const Initialization&) final {}

 protected:
  /// Weight 1 and bias 0: [channels] each.
  void register_unit(int64_t channels);
};

}  // namespace batchplus
