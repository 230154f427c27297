#include "methods/sarah.h"

#include <gtest/gtest.h>

#include "support/rig.h"

namespace batchplus {
namespace {

using testing::make_method;
using testing::random_outer_batch;
using testing::Rig;

TEST(Sarah, WithASingleInnerBatchIsSgd) {
  const auto end = [](const std::string& name) {
    Rig rig(testing::small_cnn(0));
    EXPECT_TRUE(make_method(rig, name, {8, 8}).run(random_outer_batch(8, 8), 0, 0.1).is_finite);
    return rig.weights();
  };
  EXPECT_TRUE(end("sarah").equal(end("sgd")));
}

// g_t(w) - (g_t(w) - v) = v: with the weights held where they are, nothing corrects the first estimate.
TEST(Sarah, EveryEstimateIsMuWhileTheWeightsStay) {
  Rig rig(testing::small_mlp());
  const OuterBatch outer = random_outer_batch(32, 8);
  Snapshot snapshot(rig.oracle, {});
  snapshot.take(outer);
  SarahEstimator estimator(rig.oracle, CoefficientSchedule::parse("-1", "test"));
  int64_t steps = 0;
  estimator.run(outer, 0, [&](const EstimateTerms& estimate) {
    // Two roundings of numbers below one in each of three corrections.
    EXPECT_LT(testing::largest_difference(*estimate.gradient, snapshot.mean_gradient()), 6e-8 * 2 * 3);
    ++steps;
    return true;
  });
  EXPECT_EQ(steps, 4);
}

}  // namespace
}  // namespace batchplus
