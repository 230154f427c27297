// The exact identities of the signed control-variate estimator, each for both small networks, and the
// equality of cached and recomputed snapshots through whole runs.

#include <gtest/gtest.h>

#include "methods/momentum.h"
#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::make_method;
using testing::MethodSettings;
using testing::random_outer_batch;
using testing::Rig;

constexpr double kLearningRate = 0.1;
// Sums and differences of a few float vectors of order 1: some units in the last place of 1.
constexpr double kRounding = 1e-6;

enum class Net { kMlp, kCnn };

class Identities : public ::testing::TestWithParam<Net> {
 protected:
  static Model network() { return GetParam() == Net::kMlp ? testing::small_mlp() : testing::small_cnn(0.5); }

  /// Weights after some outer batches of `samples`.
  static torch::Tensor run(const std::string& method, int64_t samples, int64_t inner,
                           const MethodSettings& settings = {}, int outer_batches = 3) {
    Rig rig(network());
    Method m = make_method(rig, method, {samples, inner}, settings);
    for (int s = 0; s < outer_batches; ++s) {
      EXPECT_TRUE(m.run(random_outer_batch(samples, inner, s + 1), 0, kLearningRate).is_finite);
    }
    return rig.weights();
  }
};

TEST_P(Identities, OuterBatchOfOneInnerBatchIsSgd) {
  const torch::Tensor sgd = run("sgd", 8, 8);
  EXPECT_LT(largest_difference(run("b-svrg", 8, 8), sgd), kRounding);
  EXPECT_LT(largest_difference(run("bp-svrg", 8, 8), sgd), kRounding);
}

TEST_P(Identities, CoefficientZeroIsSgdOnTheSameBatches) {
  EXPECT_TRUE(run("bp-svrg", 32, 8, {.coefficient = "0"}).equal(run("sgd", 32, 8)));
}

TEST_P(Identities, FirstStepOfBSvrgIsMinusLearningRateTimesMu) {
  Rig rig(network());
  const OuterBatch outer = random_outer_batch(16, 8);
  const torch::Tensor w = rig.weights();
  Snapshot snapshot(rig.oracle, {});
  snapshot.take(outer);
  const torch::Tensor mu = snapshot.mean_gradient().clone();
  const torch::Tensor g1 = snapshot.inner_gradient(outer, 0).clone();

  const auto first_step = [&](const std::string& coefficient) {
    Rig fresh(network());
    const auto estimator =
        find_method("b-svrg", "test")
            .make_estimator(fresh.oracle, {.coefficient = CoefficientSchedule::parse(coefficient, "test")});
    MomentumRule rule(fresh.parameters, kernels::UpdateKind::kPlain, {});
    estimator->run(outer, 0, [&](const EstimateTerms& estimate) {
      EXPECT_TRUE(rule.step(estimate, kLearningRate));
      return false;
    });
    return fresh.weights();
  };
  EXPECT_LT(largest_difference(first_step("-1"), w - kLearningRate * mu), kRounding);
  EXPECT_LT(largest_difference(first_step("1"), w - kLearningRate * (2 * g1 - mu)), kRounding);
}

TEST_P(Identities, EstimatesAtTheSnapshotAverageToMu) {
  for (const char* coefficient : {"-1", "1", "0.3"}) {
    Rig rig(network());
    const OuterBatch outer = random_outer_batch(32, 8);
    const auto estimator =
        find_method("b-svrg", "test")
            .make_estimator(rig.oracle, {.coefficient = CoefficientSchedule::parse(coefficient, "test")});
    torch::Tensor sum = torch::zeros({rig.parameters.size()}, torch::kFloat64);
    torch::Tensor mu;
    // A step function that does not move keeps every estimate at w.
    estimator->run(outer, 0, [&](const EstimateTerms& v) {
      sum += (*v.gradient + v.coefficient * (*v.control - *v.mean)).to(torch::kFloat64);
      mu = *v.mean;
      return true;
    });
    EXPECT_LT(largest_difference(sum / 4, mu), kRounding) << coefficient;
  }
}

TEST_P(Identities, OuterBatchOfAllSamplesIsSvrg) {
  EXPECT_TRUE(run("b-svrg", 64, 8).equal(run("svrg", 64, 8)));
  EXPECT_TRUE(run("bp-svrg", 64, 8).equal(run("psvrg", 64, 8)));
}

TEST_P(Identities, BpSvrgPairEndsWhereTheClosedFormSays) {
  Rig rig(network());
  const OuterBatch outer = random_outer_batch(16, 8);
  const torch::Tensor w = rig.weights();
  const torch::Tensor g1 = rig.gradient(outer.inner(0));
  const torch::Tensor g2 = rig.gradient(outer.inner(1));
  const torch::Tensor w1 = w - kLearningRate * (1.5 * g1 - 0.5 * g2);
  const torch::Tensor g2_at_w1 = rig.oracle.make_vector();
  rig.oracle.gradient_at(w1, outer.inner(1), g2_at_w1);
  const torch::Tensor expected = w - kLearningRate * (g1 + g2_at_w1);
  EXPECT_LT(largest_difference(run("bp-svrg", 16, 8, {}, 1), expected), kRounding);
}

TEST_P(Identities, CachedAndRecomputedSnapshotsGiveTheSameBits) {
  for (const char* method : {"svrg", "b-svrg", "bp-svrg", "alpha-svrg"}) {
    for (const int64_t samples : {16, 32, 36}) {
      EXPECT_TRUE(run(method, samples, 8, {.snapshot = SnapshotGradients::kCache, .weight_decay = 1e-3})
                      .equal(run(method, samples, 8,
                                 {.snapshot = SnapshotGradients::kRecompute, .weight_decay = 1e-3})))
          << method << ", B = " << samples;
    }
  }
}

TEST_P(Identities, AlphaSvrgOfOneIsBSvrg) {
  EXPECT_TRUE(run("alpha-svrg", 16, 8, {.coefficient = "-1"}).equal(run("b-svrg", 16, 8)));
}

INSTANTIATE_TEST_SUITE_P(BothNetworks, Identities, ::testing::Values(Net::kMlp, Net::kCnn),
                         [](const auto& info) { return info.param == Net::kMlp ? "Mlp" : "SmallCnn"; });

}  // namespace
}  // namespace batchplus
