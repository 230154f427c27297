#pragma once

#include "methods/estimator.h"
#include "methods/schedule.h"
#include "objective/snapshot.h"

namespace batchplus {

/// The recursive estimator of SARAH (Nguyen et al. 2017), with the sign of its control variate free. With the
/// snapshot w_0 of the outer batch:
///   v_0 = mu = (1/B) sum_{i in I} grad f_i(w_0)
///   v_t = g_t(w_t) + c (g_t(w_{t-1}) - v_{t-1}),  t >= 1
/// c = -1 is SARAH: each step corrects the estimate of the one before, so that no snapshot has to be kept.
/// Cost: the outer batch, then two gradient evaluations for each of its K - 1 further steps: 3K - 2 an outer
/// batch.
class SarahEstimator : public Estimator {
 public:
  SarahEstimator(GradientOracle& oracle, CoefficientSchedule coefficient);
  void run(const OuterBatch& outer, double progress, const StepFunction& step) override;
  static int64_t cost(const OuterBatchShape& shape);
  static int64_t vectors(const OuterBatchShape& shape);

 private:
  GradientOracle& oracle_;
  CoefficientSchedule coefficient_;
  /// Takes mu.
  Snapshot snapshot_;
  torch::Tensor gradient_;
  torch::Tensor control_;
  /// v_{t-1} and w_{t-1}.
  torch::Tensor estimate_;
  torch::Tensor point_;
};

}  // namespace batchplus
