#include "metrics/hessian_trace.h"

#include <ATen/ATen.h>

#include "metrics/random_vectors.h"
#include "util/error.h"

namespace batchplus {

Estimate hutchinson_trace(const torch::Tensor& like, const SymmetricProduct& product, int64_t draws,
                          uint64_t seed) {
  BATCHPLUS_CHECK(draws >= 2, "a standard error needs two draws");
  const RandomVectors random(seed, RandomVectors::Use::kTrace, like);
  MeanOfDraws mean;
  for (int64_t i = 0; i < draws; ++i) {
    const torch::Tensor z = random.signs(i);
    mean.add((z * product(z)).sum(torch::kFloat64).item<double>());
  }
  return mean.estimate();
}

}  // namespace batchplus
