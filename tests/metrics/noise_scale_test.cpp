#include "metrics/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/sample_gradients.h"
#include "support/rig.h"

namespace batchplus {
namespace {

// tr(Sigma) = E_i||grad f_i - grad F||^2, from the gradients one by one.
TEST(NoiseScale, IsTheMeanSquaredDeviationOverTheSquaredGradient) {
  testing::Rig rig(testing::small_mlp());
  constexpr int64_t kSamples = 12;
  const OuterBatch samples = testing::random_outer_batch(kSamples, 1);
  const testing::SampleGradients gradients(rig, samples);
  double deviations = 0;
  for (const torch::Tensor& gradient : gradients.each)
    deviations += (gradient - gradients.mean).square().sum().item<double>() / kSamples;
  const double full = gradients.squared_mean();
  EXPECT_NEAR(noise_scale(gradients.mean_square - full, full), deviations / full, 1e-12 * deviations / full);
}

// Two gradients of length 5 and 1, whose mean is (2, 2).
TEST(SampleGradientNorms, HaveAVarianceThatIsNeverBelowZero) {
  SampleGradientNorms norms;
  norms.losses = torch::zeros(2, torch::kFloat64);
  norms.squared_norms = torch::tensor({25.0, 1.0}, torch::kFloat64);
  norms.gradient = torch::tensor({2.0, 2.0});
  EXPECT_DOUBLE_EQ(norms.variance(), 5.0);
  norms.squared_norms = torch::tensor({8.0, 7.999}, torch::kFloat64);
  EXPECT_EQ(norms.variance(), 0.0) << "equal gradients, but for rounding";
  norms.squared_norms[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(norms.variance())) << "what is unknown is not zero";
}

}  // namespace
}  // namespace batchplus
