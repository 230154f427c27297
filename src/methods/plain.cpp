#include "methods/plain.h"

namespace batchplus {

PlainEstimator::PlainEstimator(GradientOracle& oracle, Options options)
    : oracle_(oracle), options_(options), gradient_(oracle.make_vector()) {}

void PlainEstimator::run(const OuterBatch& outer, double /*progress*/, const StepFunction& step) {
  if (options_.is_moving_statistics_first) {
    for (int64_t t = 0; t < outer.inner_batches(); ++t) oracle_.move_statistics(outer.inner(t));
  }
  for (int64_t t = 0; t < outer.inner_batches(); ++t) {
    oracle_.gradient(outer.inner(t), gradient_);
    if (!step({.gradient = &gradient_})) return;
  }
}

int64_t PlainEstimator::cost(const OuterBatchShape& shape) {
  return shape.inner_batches() * shape.inner_batch;
}

int64_t PlainEstimator::vectors(const OuterBatchShape& /*shape*/) {
  return 1;  // g_t
}

}  // namespace batchplus
