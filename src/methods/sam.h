#pragma once

#include "methods/estimator.h"
#include "objective/gradient_oracle.h"

namespace batchplus {

/// Sharpness-aware minimisation (Foret et al. 2020): the gradient at the point within radius rho where the
/// loss rises most to first order, on the same samples and dropout masks:
///   v_t = g_t(w_{t-1} + rho g / ||g||),  g = g_t(w_{t-1})
/// Cost: two gradient evaluations a step. Both are first computations and move BatchNorm's statistics.
class SamEstimator : public Estimator {
 public:
  SamEstimator(GradientOracle& oracle, double radius);
  void run(const OuterBatch& outer, double progress, const StepFunction& step) override;
  static int64_t cost(const OuterBatchShape& shape);
  static int64_t vectors(const OuterBatchShape& shape);

 private:
  GradientOracle& oracle_;
  double radius_;
  torch::Tensor gradient_;
  torch::Tensor climbed_;
};

}  // namespace batchplus
