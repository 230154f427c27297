#pragma once

#include <string>
#include <vector>

#include "networks/model.h"

namespace batchplus {

/// What a layer with parameters did in one forward pass over one image.
struct LayerRow {
  /// As in the state dict, without ".weight".
  std::string name;
  /// "conv 3x3/2", "linear", "batch norm".
  std::string kind;
  /// [C,H,W] or [C].
  std::vector<int64_t> output;
  int64_t parameters = 0;
  int64_t macs = 0;
};

/// The layers in the order in which they compute; only the project's own layers (layers/layer.h) are seen.
std::vector<LayerRow> list_layers(const Model& model, int64_t channels, int64_t side);

/// Multiply-accumulate operations of convolutions and matrix products in one forward pass over one image,
/// counted while it runs, for any module. [1,channels,side,side]
int64_t count_macs(const Model& model, int64_t channels, int64_t side);

/// Bytes that a training step on [batch,channels,side,side] keeps between its forward and its backward pass,
/// as measured in one: the allocations that are still there when the loss is known, parameters and images
/// excluded.
int64_t measure_activation_bytes(const Model& model, int64_t batch, int64_t channels, int64_t side);

/// By how much the largest total of a training step's allocations, backward pass included, grows with a
/// sample.
int64_t measure_sample_bytes(const Model& model, int64_t channels, int64_t side);

}  // namespace batchplus
