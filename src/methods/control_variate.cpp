#include "methods/control_variate.h"

namespace batchplus {

ControlVariateEstimator::ControlVariateEstimator(GradientOracle& oracle, CoefficientSchedule coefficient,
                                                 SnapshotOptions snapshot)
    : oracle_(oracle),
      coefficient_(coefficient),
      snapshot_(oracle, snapshot),
      gradient_(oracle.make_vector()) {}

void ControlVariateEstimator::run(const OuterBatch& outer, double progress, const StepFunction& step) {
  const double c = coefficient_.value(progress);
  snapshot_.take(outer);  // w, mu
  for (int64_t t = 0; t < outer.inner_batches(); ++t) {
    const bool is_at_snapshot = t == 0;
    if (!is_at_snapshot) oracle_.gradient(outer.inner(t), gradient_);      // g_t(w_{t-1})
    const torch::Tensor& control = snapshot_.inner_gradient(outer, t);     // g_t(w)
    const torch::Tensor& gradient = is_at_snapshot ? control : gradient_;  // w_0 = w
    const bool is_finite = step(
        {.gradient = &gradient, .control = &control, .mean = &snapshot_.mean_gradient(), .coefficient = c});
    if (!is_finite) return;
  }
}

int64_t ControlVariateEstimator::cost(const OuterBatchShape& shape) {
  return shape.samples + (shape.inner_batches() - 1) * shape.inner_batch * (shape.is_cached ? 1 : 2);
}

int64_t ControlVariateEstimator::vectors(const OuterBatchShape& shape) {
  return 1 + shape.snapshot_vectors();  // g_t
}

}  // namespace batchplus
