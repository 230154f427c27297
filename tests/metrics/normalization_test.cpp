#include <gtest/gtest.h>

#include "metrics/sample_gradients.h"
#include "support/problem.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

using testing::relative_error;

// The metrics are exact for every network with every normalisation; with BatchNorm: sample_gradients_test.cpp
// and hessian_test.cpp.
TEST(Normalization, LeavesMetricsExact) {
  for (const NetworkInfo& info : networks()) {
    if (!info.has_normalization) continue;
    for (const NormalizationKind kind : {NormalizationKind::kGroup, NormalizationKind::kNone}) {
      SCOPED_TRACE(info.name + ", " + to_string(kind));
      const auto problem =
          testing::network_problem(testing::small_name(info), 10, 3, torch::kFloat64, {.chunk = 2}, kind);
      const SampleGradientNorms measured = measure_sample_gradients(problem->objective);
      const torch::Tensor gradients = problem->slow_sample_gradients();
      EXPECT_LT(relative_error(measured.squared_norms, gradients.square().sum(1)), 1e-9);
      EXPECT_LT(relative_error(measured.gradient, gradients.mean(0)), 1e-9);
      EXPECT_TRUE(measured.notes.empty());

      const torch::Tensor v = torch::randn_like(problem->parameters.values());
      EXPECT_LT(relative_error(problem->objective.hessian_product(v), problem->slow_hessian_product(v)),
                1e-9);
    }
  }
}

}  // namespace
}  // namespace batchplus
