#pragma once

#include "core/torch.h"

namespace batchplus {

class Layer;

/// Sees what passes through every layer with parameters, computed by libtorch. A gradient with respect to an
/// output is to be had by a hook on it.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual void on_forward(const Layer& layer, const torch::Tensor& input, const torch::Tensor& output) = 0;
};

/// A layer in one pass over a batch.
struct LayerPass {
  const Layer& layer;
  /// x: [N,...].
  torch::Tensor input;
  /// g: [N,...], the gradient of sum_i f_i with respect to the layer's output; its i-th row is f_i's alone.
  torch::Tensor output_gradient;
  /// Where the layer's own kernels give them by the way, each sample's gradients with respect to weight and
  /// bias: [N,C] each. Input and output gradient are then undefined.
  torch::Tensor sample_weights = {};
  torch::Tensor sample_biases = {};
};

/// Sees every layer's input and output gradient in a backward pass in evaluation mode.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  /// Whether it wants to see this layer.
  virtual bool watches(const Layer& layer) const = 0;
  virtual void on_backward(const LayerPass& pass) = 0;
};

}  // namespace batchplus
