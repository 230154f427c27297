#include "metrics/control_variate_probe.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace batchplus {
namespace {

TEST(ControlVariateProbe, EqualsTheDefinitionInDouble) {
  torch::manual_seed(1);
  constexpr int64_t kSize = 50001;
  ControlVariateProbe probe;
  double aa = 0, az = 0, zz = 0, vv = 0, distance = 0;
  for (int outer = 0; outer < 3; ++outer) {
    const torch::Tensor snapshot = torch::randn({kSize});
    const torch::Tensor mean = torch::randn({kSize});
    for (int64_t t = 0; t < 4; ++t) {
      const torch::Tensor control = torch::randn({kSize});
      const torch::Tensor gradient = 0.7 * control + torch::randn({kSize});
      const torch::Tensor w = snapshot + 0.01 * static_cast<double>(t) * torch::randn({kSize});
      const double c = 0.5 + 0.1 * static_cast<double>(t);
      probe.add(t, {.gradient = &gradient, .control = &control, .mean = &mean, .coefficient = c}, w);
      if (t == 0) continue;
      const torch::Tensor a = gradient.to(torch::kFloat64) - mean;
      const torch::Tensor z = control.to(torch::kFloat64) - mean;
      aa += a.square().sum().item<double>();
      az += (a * z).sum().item<double>();
      zz += z.square().sum().item<double>();
      vv += (a + c * z).square().sum().item<double>();
      distance += (w.to(torch::kFloat64) - snapshot).norm().item<double>();
    }
  }
  const auto found = probe.take();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->inner_steps, 9);
  EXPECT_NEAR(found->correlation, az / std::sqrt(aa * zz), 1e-12);
  EXPECT_NEAR(found->variance_ratio, vv / aa, 1e-12);
  EXPECT_NEAR(found->optimal_coefficient, -az / zz, 1e-12);
  EXPECT_NEAR(found->snapshot_distance, distance / 9, 1e-9);
  EXPECT_FALSE(probe.take().has_value()) << "taken once";
}

// The coefficient it names has the least variance of all.
TEST(ControlVariateProbe, NamesTheCoefficientOfLeastVariance) {
  torch::manual_seed(2);
  const torch::Tensor w = torch::zeros({1000});
  const torch::Tensor control = torch::randn({1000});
  const torch::Tensor mean = torch::randn({1000});
  const torch::Tensor gradient = 0.4 * control + torch::randn({1000});
  const auto ratio_with = [&](double c) {
    ControlVariateProbe probe;
    const kernels::EstimateTerms terms{
        .gradient = &gradient, .control = &control, .mean = &mean, .coefficient = c};
    probe.add(0, terms, w);
    probe.add(1, terms, w);
    return *probe.take();
  };
  const double best = ratio_with(0).optimal_coefficient;
  EXPECT_EQ(ratio_with(0).variance_ratio, 1);
  for (const double step : {-0.01, 0.01}) {
    EXPECT_LT(ratio_with(best).variance_ratio, ratio_with(best + step).variance_ratio);
  }
  // At the best coefficient the variance that is left is 1 - correlation^2.
  EXPECT_NEAR(ratio_with(best).variance_ratio, 1 - std::pow(ratio_with(0).correlation, 2), 1e-12);
}

TEST(ControlVariateProbe, SeesNothingWithoutAControlVariate) {
  ControlVariateProbe probe;
  const torch::Tensor v = torch::ones({3});
  for (int64_t t = 0; t < 3; ++t) probe.add(t, {.gradient = &v}, v);
  EXPECT_FALSE(probe.take().has_value());
}

}  // namespace
}  // namespace batchplus
