#pragma once

#include <cstdint>

#include "kernels/vector_kernels.h"

namespace batchplus::kernels {

/// Running means of the gradient and of its square.
struct Moments {
  /// [d].
  at::Tensor first;
  /// [d].
  at::Tensor second;
};

struct AdamConstants {
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  /// Weights shrink by themselves (AdamW) instead of through the gradient (Adam).
  bool is_decoupled = false;
  /// Of the step, counted from 1.
  int64_t step = 1;
};

/// Estimator, weight decay and Adam's step t in one read of memory. With v the estimate:
///   coupled    v += decay w
///   decoupled  w *= 1 - lr decay
///   m = beta1 m + (1 - beta1) v;  s = beta2 s + (1 - beta2) v^2
///   w -= lr / (1 - beta1^t) m / (sqrt(s) / sqrt(1 - beta2^t) + epsilon)
/// Returns whether every new w is finite.
[[nodiscard]] bool adam_update(const at::Tensor& w, const Moments& moments, const EstimateTerms& estimate,
                               const AdamConstants& constants);

/// The same from ATen operations, for other devices; bitwise equal to the fused pass on CPU.
[[nodiscard]] bool adam_update_aten(const at::Tensor& w, const Moments& moments,
                                    const EstimateTerms& estimate, const AdamConstants& constants);

}  // namespace batchplus::kernels
