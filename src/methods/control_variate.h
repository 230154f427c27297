#pragma once

#include "methods/estimator.h"
#include "methods/schedule.h"
#include "objective/snapshot.h"

namespace batchplus {

/// The signed control-variate estimator of the SVRG family. With snapshot w = w_0 of the outer batch:
///   mu  = (1/B) sum_{i in I} grad f_i(w)
///   v_t = g_t(w_{t-1}) + c (g_t(w) - mu)
/// c = -1 subtracts the control variate (Johnson and Zhang 2013: svrg, b-svrg), c = +1 adds it (psvrg,
/// bp-svrg), and c = -alpha(t) is alpha-svrg (Yin et al. 2023). Cost: K + K-1 gradient evaluations an outer
/// batch with cached snapshot gradients, K-1 more recomputed; step 1 takes place at the snapshot and reuses
/// its gradient.
class ControlVariateEstimator : public Estimator {
 public:
  ControlVariateEstimator(GradientOracle& oracle, CoefficientSchedule coefficient, SnapshotOptions snapshot);
  void run(const OuterBatch& outer, double progress, const StepFunction& step) override;
  static int64_t cost(const OuterBatchShape& shape);
  static int64_t vectors(const OuterBatchShape& shape);

 private:
  GradientOracle& oracle_;
  CoefficientSchedule coefficient_;
  Snapshot snapshot_;
  torch::Tensor gradient_;
};

}  // namespace batchplus
