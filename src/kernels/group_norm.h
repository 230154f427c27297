#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

/// Normalises each sample by the moments of its groups of channels, then scales and shifts by channels:
///   y = weight * (x - mean) * inverse_std + bias
/// The parameters: [channels]; the moments: [samples, groups].
struct GroupNormParameters {
  int64_t groups = 1;
  double epsilon = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
};
void group_norm_forward(const ConstMaps& x, const GroupNormParameters& by, const Maps& y, float* mean,
                        float* inverse_std);

struct GroupNormBackward {
  ConstMaps x;
  ConstMaps y_gradient;
  int64_t groups = 1;
  const float* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse_std = nullptr;

  /// What is computed.
  Maps x_gradient;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};
void group_norm_backward(const GroupNormBackward& pass);

}  // namespace batchplus::kernels
