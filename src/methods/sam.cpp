#include "methods/sam.h"

#include <cmath>

namespace batchplus {

SamEstimator::SamEstimator(GradientOracle& oracle, double radius)
    : oracle_(oracle), radius_(radius), gradient_(oracle.make_vector()), climbed_(oracle.make_vector()) {}

void SamEstimator::run(const OuterBatch& outer, double /*progress*/, const StepFunction& step) {
  for (int64_t t = 0; t < outer.inner_batches(); ++t) {
    oracle_.gradient(outer.inner(t), gradient_);
    const double norm = std::sqrt(kernels::squared_norm(gradient_));
    const double scale = norm > 0 ? radius_ / norm : 0;  // at a stationary point there is nowhere to climb
    kernels::displace(oracle_.parameters().values(), scale, gradient_, climbed_);
    oracle_.gradient_at(climbed_, outer.inner(t), gradient_);
    if (!step({.gradient = &gradient_})) return;
  }
}

int64_t SamEstimator::cost(const OuterBatchShape& shape) {
  return 2 * shape.inner_batches() * shape.inner_batch;
}

int64_t SamEstimator::vectors(const OuterBatchShape& /*shape*/) {
  return 2;  // g_t, the point above
}

}  // namespace batchplus
