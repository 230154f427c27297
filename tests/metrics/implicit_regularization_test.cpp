#include "metrics/implicit_regularization.h"

#include <gtest/gtest.h>

#include "support/rig.h"

namespace batchplus {
namespace {

double factor(double c, int64_t inner_batch, int64_t outer_batch) {
  return ImplicitRegularization{.coefficient = c, .inner_batch = inner_batch, .outer_batch = outer_batch}
      .noise_factor();
}

// The table of docs/theory.md.
TEST(ImplicitRegularization, HasTheFactorsOfTheMethods) {
  EXPECT_DOUBLE_EQ(factor(0, 10, 10), 1) << "sgd";
  EXPECT_DOUBLE_EQ(factor(0, 10, 20), 1) << "modified-sgd";
  EXPECT_DOUBLE_EQ(factor(-1, 10, 20), 0.5) << "b-svrg";
  EXPECT_DOUBLE_EQ(factor(1, 10, 20), 1.5) << "bp-svrg";
  EXPECT_DOUBLE_EQ(factor(3, 10, 20), 2.5);
  EXPECT_DOUBLE_EQ(factor(1, 10, 10), 1) << "one inner batch makes every method SGD";
  EXPECT_NEAR(factor(-1, 10, 5000), 0, 0.01) << "svrg";
  EXPECT_NEAR(factor(1, 10, 5000), 2, 0.01) << "psvrg";
}

// B = 25, b = 10: K = 2, and 20 of 25 samples make steps.
TEST(ImplicitRegularization, IsWeakerByTheSamplesThatMakeNoStep) {
  EXPECT_DOUBLE_EQ(factor(1, 10, 25), 0.8 * 1.5);
}

TEST(ImplicitRegularization, OfOuterBatchesDrawnAfreshIsTheControlVariatesAlone) {
  ImplicitRegularization training{
      .coefficient = 1, .inner_batch = 10, .outer_batch = 20, .is_reshuffled = false, .train_samples = 1000};
  EXPECT_DOUBLE_EQ(training.noise_factor(), 0.5 + 0.01);
  training.coefficient = 0;
  EXPECT_DOUBLE_EQ(training.noise_factor(), 0.01);
  // All samples in one outer batch are a shuffled pass, whoever draws it: 99/100 (1 + c).
  training = {.coefficient = 1,
              .inner_batch = 10,
              .outer_batch = 1000,
              .is_reshuffled = false,
              .train_samples = 1000};
  EXPECT_DOUBLE_EQ(training.noise_factor(), 0.99 * 2);
}

// sigma^2/b is the mean squared distance of an inner batch's gradient from that of all samples, but for the
// factor (n-b)/(n-1) of draws without replacement: here over all pairs of 6 samples, one by one.
TEST(ImplicitRegularization, PenalisesTheVarianceOfInnerBatchGradients) {
  testing::Rig rig(testing::small_mlp());
  constexpr int64_t kSamples = 6;
  const OuterBatch samples = testing::random_outer_batch(kSamples, 1);
  const testing::SampleGradients gradients(rig, samples);
  double of_pairs = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const torch::Tensor pair = (gradients.each[i] + gradients.each[j]) / 2;
      of_pairs += (pair - gradients.mean).square().sum().item<double>() / 15;
    }
  }
  const double full = gradients.squared_mean();
  const double variance = gradients.mean_square - full;
  const ImplicitRegularization sgd{.learning_rate = 0.1, .inner_batch = 2, .outer_batch = 2};
  const double without_replacement = 4.0 / 5;
  EXPECT_NEAR(sgd.noise_penalty(variance) * without_replacement, 0.1 / 4 * of_pairs, 1e-12 * of_pairs);
  EXPECT_DOUBLE_EQ(sgd.drift_penalty(full), 0.1 / 4 * full);
}

}  // namespace
}  // namespace batchplus
