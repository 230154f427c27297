#pragma once

#include "kernels/batch_norm.h"

namespace batchplus::kernels {

/// Maps and their derivatives along a direction.
template <class Float>
struct DualMapsOf {
  MapsOf<Float> value;
  MapsOf<Float> tangent;
};
using DualMaps = DualMapsOf<float>;
using ConstDualMaps = DualMapsOf<const float>;

/// A BatchNorm by fixed moments, an affine map, whose weight and bias move: by channels
///   z = scale x + shift + addend,  z' = scale x' + scale' x + shift' + addend'
/// and y = z, y' = z', or with is_relu y = max(0, z) and y' = z' where z > 0. One pass over memory.
struct DualScaleShift {
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* scale_tangent = nullptr;
  const float* shift_tangent = nullptr;
  /// Where they have data.
  ConstDualMaps addend;
  bool is_relu = false;
};
void normalize_dual(const ConstDualMaps& x, const DualScaleShift& by, const DualMaps& y);

/// The backward pass. Of a pair of gradients `value` is that with respect to the value and `tangent` that
/// with respect to the tangent. One pass over memory.
struct DualBatchNormBackward {
  ConstDualMaps x;
  ConstDualMaps y_gradient;
  ReluMask mask = ReluMask::kNone;
  /// For kFromOutput.
  ConstMaps y;
  /// As in the forward pass, with the moments behind them.
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* scale_tangent = nullptr;
  const float* mean = nullptr;
  const float* inverse_std = nullptr;

  /// What is computed; the addend's where there is memory for it.
  DualMaps x_gradient;
  DualMaps addend_gradient;
  /// Each sample's with respect to weight and bias: [samples, channels].
  float* sample_weights = nullptr;
  float* sample_biases = nullptr;
};
void dual_batch_norm_backward(const DualBatchNormBackward& pass);

}  // namespace batchplus::kernels
