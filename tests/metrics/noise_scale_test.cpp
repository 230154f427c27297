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
  std::vector<torch::Tensor> gradients;
  torch::Tensor mean = torch::zeros({rig.parameters.size()}, torch::kFloat64);
  double squares = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    gradients.push_back(rig.gradient(samples.inner(i)).to(torch::kFloat64));
    mean += gradients.back() / kSamples;
    squares += gradients.back().square().sum().item<double>() / kSamples;
  }
  double deviations = 0;
  for (const torch::Tensor& gradient : gradients)
    deviations += (gradient - mean).square().sum().item<double>() / kSamples;
  const double full = mean.square().sum().item<double>();
  EXPECT_NEAR(noise_scale(squares, full), deviations / full, 1e-12 * deviations / full);
}

}  // namespace
}  // namespace batchplus
