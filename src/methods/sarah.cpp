#include "methods/sarah.h"

#include <ATen/ATen.h>

namespace batchplus {

SarahEstimator::SarahEstimator(GradientOracle& oracle, CoefficientSchedule coefficient)
    : oracle_(oracle),
      coefficient_(coefficient),
      snapshot_(oracle, {.gradients = SnapshotGradients::kRecompute}),
      gradient_(oracle.make_vector()),
      control_(oracle.make_vector()),
      estimate_(oracle.make_vector()),
      point_(oracle.make_vector()) {}

void SarahEstimator::run(const OuterBatch& outer, double progress, const StepFunction& step) {
  const double c = coefficient_.value(progress);
  const torch::Tensor& w = oracle_.parameters().values();
  snapshot_.take(outer);
  estimate_.copy_(snapshot_.mean_gradient());  // v_0 = mu
  for (int64_t t = 0; t < outer.inner_batches(); ++t) {
    if (t > 0) {
      oracle_.gradient(outer.inner(t), gradient_);                   // g_t(w_t)
      oracle_.replay_gradient_at(point_, outer.inner(t), control_);  // g_t(w_{t-1})
      estimate_.copy_(gradient_ + c * (control_ - estimate_));       // v_t
    }
    point_.copy_(w);
    if (!step({.gradient = &estimate_})) return;
  }
}

int64_t SarahEstimator::cost(const OuterBatchShape& shape) {
  return shape.samples + 2 * (shape.inner_batches() - 1) * shape.inner_batch;
}

int64_t SarahEstimator::vectors(const OuterBatchShape& shape) {
  OuterBatchShape recomputed = shape;
  recomputed.is_cached = false;
  return 4 + recomputed.snapshot_vectors();  // g_t, its control, v_{t-1}, w_{t-1}
}

}  // namespace batchplus
