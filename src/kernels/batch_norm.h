#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

/// Pixels over which moments are taken: those of all samples of a batch, of which these may be a share; a
/// share with moments of its own is a batch here (sample_share.h).
int64_t batch_pixels(const ConstMaps& x);

/// The mean and the (biased) variance of each channel over all pixels of the batch: [channels] each. One pass
/// over memory.
void channel_moments(const ConstMaps& x, float* mean, float* variance);

/// The sum of each channel over all pixels: [channels].
void channel_sums(const ConstMaps& x, float* sums);

/// y = scale * x + shift by channels, plus `addend` where it has data, and max(0, .) with is_relu.
struct ScaleShift {
  const float* scale = nullptr;
  const float* shift = nullptr;
  ConstMaps addend;
  bool is_relu = false;
};
void normalize(const ConstMaps& x, const ScaleShift& by, const Maps& y);

/// Where a gradient with respect to y = max(0, normalised x [+ addend]) counts.
enum class ReluMask {
  kNone,
  /// Where scale * x + shift > 0, computed again.
  kFromInput,
  /// Where y > 0.
  kFromOutput,
};

/// The backward pass of a BatchNorm by the batch's own moments, and of the sum and max behind it.
struct BatchNormBackward {
  ConstMaps x;
  ConstMaps y_gradient;
  ReluMask mask = ReluMask::kNone;
  /// For kFromOutput.
  ConstMaps y;
  /// As in the forward pass: scale = weight * inverse_std, shift = bias - mean * scale.
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* mean = nullptr;
  const float* inverse_std = nullptr;

  /// What is computed: the gradients with respect to x (added to what is there with is_adding), to weight and
  /// bias, and to the addend where that has data.
  Maps x_gradient;
  bool is_adding = false;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
  Maps addend_gradient;
};
/// Two passes over memory: the gradient with respect to x depends on two sums over all pixels.
void batch_norm_backward(const BatchNormBackward& pass);

/// The backward pass of a BatchNorm whose moments are held fixed, an affine map, and of the sum and max
/// behind it. One pass over memory.
struct FixedBatchNormBackward {
  ConstMaps x;
  ConstMaps y_gradient;
  ReluMask mask = ReluMask::kNone;
  /// For kFromOutput.
  ConstMaps y;
  /// As above.
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* mean = nullptr;
  const float* inverse_std = nullptr;

  /// What is computed where there is memory for it: the gradients with respect to x (added to what is there
  /// with is_adding) and to the addend, and each sample's with respect to weight and bias: [samples,
  /// channels].
  Maps x_gradient;
  bool is_adding = false;
  Maps addend_gradient;
  float* sample_weights = nullptr;
  float* sample_biases = nullptr;
};
void fixed_batch_norm_backward(const FixedBatchNormBackward& pass);

}  // namespace batchplus::kernels
