#pragma once

#include <optional>

#include "core/torch.h"
#include "kernels/vector_kernels.h"

namespace batchplus {

/// How good a control variate g_t(w) is, seen while training and from the gradients that training computes.
///
/// With a_t = g_t(w_{t-1}) - mu and z_t = g_t(w) - mu, over all inner steps t >= 2 (the first takes place at
/// the snapshot, where both gradients are one):
///   correlation          sum <a,z> / sqrt(sum ||a||^2 sum ||z||^2)
///   variance_ratio       sum ||a + c z||^2 / sum ||a||^2, of v_t to g_t
///   optimal_coefficient  -sum <a,z> / sum ||z||^2, the c with the least variance
///   snapshot_distance    the mean of ||w_{t-1} - w||
/// z_t has mean zero over the inner batches, so <a,z> is unbiased for the covariance whatever a is centred
/// at;
/// ||a||^2 contains, besides the variance, how far the mean gradient has moved from mu.
struct ControlVariateDiagnostics {
  double correlation = 0;
  double variance_ratio = 0;
  double optimal_coefficient = 0;
  double snapshot_distance = 0;
  int64_t inner_steps = 0;
};

class ControlVariateProbe {
 public:
  /// Before inner step t (from 0) of an outer batch, with the weights w_t: [d].
  void add(int64_t t, const kernels::EstimateTerms& estimate, const torch::Tensor& weights);

  /// Over all steps since the last call; nothing when none had a control variate.
  std::optional<ControlVariateDiagnostics> take();

  /// Over the steps since then.
  struct Sums {
    kernels::DeviationSums deviations;
    double estimate_squares = 0;
    double distances = 0;
    int64_t steps = 0;
  };
  const Sums& sums() const { return sums_; }
  void set_sums(const Sums& sums) { sums_ = sums; }

 private:
  /// w at the beginning of the outer batch.
  torch::Tensor snapshot_;
  Sums sums_;
};

}  // namespace batchplus
