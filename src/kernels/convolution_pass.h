#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

/// How the filters move over the maps.
struct ConvolutionGeometry {
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 0;
};

/// What a convolution reads: maps, or max(0, scale * maps + shift) by channels, which is then never stored as
/// a whole.
struct ConvolutionInput {
  ConstMaps maps;
  const float* scale = nullptr;
  const float* shift = nullptr;
};

/// What a convolution's backward pass computes. Null: not wanted.
struct ConvolutionGradients {
  /// With respect to the maps that were convolved (after scale, shift and max).
  Maps input;
  Filters filters;
  float* bias = nullptr;
  /// The filters' sum over samples is cut into so many parts, at most; 0: as suits their size.
  int64_t filter_parts = 0;
};

}  // namespace batchplus::kernels
