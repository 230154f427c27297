#include "metrics/sharpness.h"

#include <gtest/gtest.h>

#include "metrics/generalization_bound.h"
#include "metrics/lanczos.h"
#include "metrics/sample_gradients.h"
#include "support/problem.h"

namespace batchplus {
namespace {

using testing::LinearRegression;

TEST(GaussianSharpness, OfAQuadraticIsHalfTheVarianceTimesTheTrace) {
  const LinearRegression regression(30);
  constexpr double kSigma = 0.04;
  const Estimate sharpness = gaussian_sharpness(regression.problem->objective, kSigma, 500, 1);
  const double exact = kSigma / 2 * regression.hessian().trace().item<double>();
  EXPECT_EQ(sharpness.draws, 500);
  EXPECT_NEAR(sharpness.value, exact, 4 * sharpness.standard_error);
  // gamma^T H gamma / 2 has variance sigma^2 ||H||_F^2 / 2.
  const double deviation = kSigma * std::sqrt(regression.hessian().square().sum().item<double>() / 2 / 500);
  EXPECT_NEAR(sharpness.standard_error, deviation, 0.3 * deviation);
}

TEST(DataSharpness, OfAQuadraticEqualsItsSecondOrderFormAndBothAreKnown) {
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    const LinearRegression regression(15, 6, reduction);
    constexpr double kEta = 0.3;
    const DataSharpness sharpness = data_sharpness(regression.problem->objective, kEta, /*draws=*/100, 1);
    const torch::Tensor g = regression.sample_gradients();
    const double exact = kEta * kEta * (g.mm(regression.hessian()) * g).sum(1).mean().item<double>();
    EXPECT_EQ(sharpness.value.draws, 15) << "all samples, none twice";
    EXPECT_EQ(sharpness.value.standard_error, 0) << "nothing was left out";
    EXPECT_NEAR(sharpness.value.value, exact, 1e-10 * exact);
    EXPECT_NEAR(sharpness.second_order.value, exact, 1e-11 * exact);
    EXPECT_NEAR(sharpness.difference.value, 0, 1e-10 * exact);

    const double lambda = std::get<0>(at::linalg_eigh(regression.hessian())).abs().max().item<double>();
    const double bound = data_sharpness_bound(kEta, lambda, g.square().sum(1).mean().item<double>());
    EXPECT_LE(exact, bound);
  }
}

TEST(DataSharpness, OfSomeSamplesIsWithinItsStandardError) {
  const LinearRegression regression(200);
  const auto some = data_sharpness(regression.problem->objective, 0.1, 50, 1);
  const auto all = data_sharpness(regression.problem->objective, 0.1, 200, 1);
  EXPECT_EQ(some.value.draws, 50);
  EXPECT_GT(some.value.standard_error, 0);
  EXPECT_NEAR(some.value.value, all.value.value, 4 * some.value.standard_error);
}

// f_i = ||w - c_i||^2 / 2 satisfies the P-L condition with mu = 1 and equality, and f_i* = 0.
TEST(GeneralizationBound, OfAQuadraticIsKnown) {
  struct Point : torch::nn::Module {
    Point() : w(register_parameter("w", torch::tensor({0.5, -1.0, 2.0}, torch::kFloat64))) {}
    torch::Tensor forward(const torch::Tensor& images) { return w - images.flatten(1); }
    torch::Tensor w;
  };
  torch::manual_seed(1);
  const torch::Tensor centres = torch::randn({9, 3, 1, 1}, torch::kFloat64);
  const auto loss = [](const torch::Tensor& outputs, const torch::Tensor&) {
    return outputs.square().sum(1) / 2;
  };
  testing::Problem problem(Model(std::make_shared<Point>()), centres, torch::zeros({9}, torch::kInt64),
                           {.loss = loss});
  const auto norms = measure_sample_gradients(problem.objective);
  const PlRatios ratios = pl_ratios(norms.losses, norms.squared_norms);
  EXPECT_NEAR(ratios.least, 1, 1e-12);
  EXPECT_NEAR(ratios.median, 1, 1e-12);
  EXPECT_EQ(ratios.samples, 9);

  const torch::Tensor to_mean = problem.parameters.values() - centres.flatten(1).mean(0);
  const GeneralizationBound bound{ratios.least, norms.mean_squared_norm(),
                                  norms.gradient.square().sum().item<double>()};
  EXPECT_NEAR(bound.sample_term(), problem.objective.value(), 1e-12);
  EXPECT_NEAR(bound.full_gradient_term(), to_mean.square().sum().item<double>() / 2, 1e-12);
  EXPECT_NEAR(bound.value(), bound.sample_term() + bound.full_gradient_term(), 1e-15);
}

TEST(PlRatios, TakeTheLeastAndLeaveLossesOfZeroOut) {
  const auto doubles = [](std::vector<double> values) { return torch::tensor(values, torch::kFloat64); };
  const PlRatios ratios = pl_ratios(doubles({2, 0, 1, 4}), doubles({4, 0, 6, 4}));
  EXPECT_EQ(ratios.least, 0.5);
  EXPECT_EQ(ratios.median, 1);
  EXPECT_EQ(ratios.samples, 3);
  EXPECT_TRUE(std::isnan(pl_ratios(doubles({0}), doubles({0})).least));
  // Ratios 1, 2, 3, 5, whose median is between the two in the middle.
  EXPECT_EQ(pl_ratios(doubles({1, 1, 1, 1}), doubles({10, 2, 6, 4})).median, 2.5);
}

TEST(MeanOfDraws, EqualsTheTextbookFormulas) {
  MeanOfDraws mean;
  EXPECT_TRUE(std::isnan((mean.add(3), mean.estimate().standard_error)));
  for (const double draw : {5.0, 10.0}) mean.add(draw);
  EXPECT_DOUBLE_EQ(mean.estimate().value, 6);
  // Variance 13, over 3 draws.
  EXPECT_DOUBLE_EQ(mean.estimate().standard_error, std::sqrt(13.0 / 3));
  EXPECT_DOUBLE_EQ(mean.estimate_out_of(12).standard_error, std::sqrt(13.0 / 3 * 0.75));
  EXPECT_EQ(mean.estimate_out_of(3).standard_error, 0);
}

}  // namespace
}  // namespace batchplus
