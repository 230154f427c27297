#pragma once

#include "core/torch.h"

namespace batchplus {

/// The terms that the paper's bound on |training loss - expected loss| can be computed of:
///   (1 / 2 mu) (E_i||grad f_i||^2 + ||grad F||^2),
/// if every f_i and the expected loss satisfy the Polyak-Lojasiewicz condition ||grad f||^2 >= 2 mu (f - f*).
/// The bound's remaining term, (1/n) sum_i |f_i* - F*|, is zero where all the infima are, as for
/// cross-entropy with labels that some w fits.
struct GeneralizationBound {
  /// The P-L constant.
  double mu = 0;
  double mean_squared_norm = 0;
  double squared_full_gradient_norm = 0;

  double sample_term() const { return mean_squared_norm / (2 * mu); }
  double full_gradient_term() const { return squared_full_gradient_norm / (2 * mu); }
  double value() const { return sample_term() + full_gradient_term(); }
};

/// Local P-L ratios ||grad f_i||^2 / (2 f_i), which take every f_i* for zero.
struct PlRatios {
  /// The largest mu with which the condition holds for every sample, here at w.
  double least = 0;
  double median = 0;
  /// Samples with a loss of zero, which satisfy it with any mu, are not counted.
  int64_t samples = 0;
};

/// losses, squared_norms: [n], float64. NaN ratios when every loss is zero.
PlRatios pl_ratios(const torch::Tensor& losses, const torch::Tensor& squared_norms);

}  // namespace batchplus
