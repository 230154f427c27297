#include "methods/plain.h"

namespace batchplus {

PlainEstimator::PlainEstimator(GradientOracle& oracle, Options options)
    : oracle_(oracle), options_(options), gradient_(oracle.make_vector()) {}

void PlainEstimator::run(const OuterBatch& outer, double /*progress*/, const StepFunction& step) {
  if (options_.is_observing_first) {
    for (int64_t t = 0; t < outer.inner_batches(); ++t) oracle_.observe(outer.inner(t));
  }
  for (int64_t t = 0; t < outer.inner_batches(); ++t) {
    oracle_.gradient(outer.inner(t), gradient_);
    if (!step({.gradient = &gradient_})) return;
  }
}

int64_t PlainEstimator::cost(int64_t outer_size, int64_t inner_size) const {
  return cost_of(outer_size, inner_size, /*is_cached=*/false);
}

int64_t PlainEstimator::cost_of(int64_t outer_size, int64_t inner_size, bool /*is_cached*/) {
  return outer_size / inner_size * inner_size;
}

}  // namespace batchplus
