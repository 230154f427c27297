#include "metrics/noise_scale.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace batchplus
