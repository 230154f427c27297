#pragma once

#include "methods/estimator.h"
#include "objective/gradient_oracle.h"

namespace batchplus {

/// The mini-batch gradient itself:
///   v_t = g_t(w_{t-1})
/// Cost: one gradient evaluation a step.
class PlainEstimator : public Estimator {
 public:
  struct Options {
    /// modified-sgd (the paper's Algorithm 2): first run the K inner batches forward, to move BatchNorm's
    /// statistics as often as b-svrg and bp-svrg do. K forward passes an outer batch, no gradients.
    bool is_moving_statistics_first = false;
  };

  PlainEstimator(GradientOracle& oracle, Options options);
  void run(const OuterBatch& outer, double progress, const StepFunction& step) override;
  static int64_t cost(const OuterBatchShape& shape);
  static int64_t vectors(const OuterBatchShape& shape);

 private:
  GradientOracle& oracle_;
  Options options_;
  torch::Tensor gradient_;
};

}  // namespace batchplus
