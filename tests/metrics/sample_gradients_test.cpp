#include "metrics/sample_gradients.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "layers/convolution.h"
#include "support/expect_error.h"
#include "support/problem.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

using testing::network_problem;
using testing::Problem;
using testing::relative_error;

/// What a measurement must equal: a loop over samples with plain autograd.
void expect_equal_to_a_loop(Problem& problem, const SampleGradientNorms& measured, double tolerance) {
  const torch::Tensor gradients = problem.slow_sample_gradients();
  const bool is_mean = problem.options.reduction == Reduction::kMean;
  EXPECT_LT(relative_error(measured.squared_norms, gradients.square().sum(1)), tolerance);
  EXPECT_LT(relative_error(measured.gradient, is_mean ? gradients.mean(0) : gradients.sum(0)), tolerance);
  problem.model.module->eval();
  const torch::NoGradGuard no_grad;
  const torch::Tensor losses = problem.options.loss(problem.model.forward(problem.images), problem.labels);
  EXPECT_LT(relative_error(measured.losses, losses.to(torch::kFloat64)), tolerance);
}

TEST(SampleGradients, OfEveryNetworkEqualALoopInDouble) {
  for (const std::string& name : testing::small_networks()) {
    for (const int64_t classes : {10, 100}) {
      for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
        SCOPED_TRACE(name + ", " + std::to_string(classes) + " classes");
        const auto problem =
            network_problem(name, classes, 3, torch::kFloat64, {.reduction = reduction, .chunk = 2});
        const SampleGradientNorms measured = measure_sample_gradients(problem->objective);
        expect_equal_to_a_loop(*problem, measured, 1e-9);
        EXPECT_TRUE(measured.notes.empty());
      }
    }
  }
}

// In single precision an activation near zero may change sign between two ways of computing it, so a deep
// network's gradients agree to about a percent only; ten samples' mean agrees better.
TEST(SampleGradients, OfEveryNetworkAgreeWithALoopInSinglePrecision) {
  for (const std::string& name : testing::small_networks()) {
    SCOPED_TRACE(name);
    const auto problem = network_problem(name, 10, 10, torch::kFloat32);
    const double mean = measure_sample_gradients(problem->objective).mean_squared_norm();
    const double slow = problem->slow_sample_gradients().square().sum(1).mean().item<double>();
    EXPECT_NEAR(mean, slow, 1e-2 * slow);
  }
}

TEST(SampleGradients, OfEachLayerAddUp) {
  const auto problem = network_problem("resnet20:width=4", 10, 3, torch::kFloat64);
  const SampleGradientNorms measured = measure_sample_gradients(problem->objective);
  const torch::Tensor gradients = problem->slow_sample_gradients();
  ASSERT_EQ(measured.layer_squared_norms.size(0), static_cast<int64_t>(measured.layer_names.size()));
  for (size_t row = 0; row < measured.layer_names.size(); ++row) {
    torch::Tensor expected = torch::zeros({3}, torch::kFloat64);
    for (const auto& slice : problem->parameters.slices()) {
      if (slice.name.substr(0, slice.name.rfind('.')) != measured.layer_names[row]) continue;
      const int64_t end = slice.offset + slice.parameter.numel();
      expected += gradients.slice(1, slice.offset, end).square().sum(1);
    }
    EXPECT_LT(relative_error(measured.layer_squared_norms[static_cast<int64_t>(row)], expected), 1e-9)
        << measured.layer_names[row];
  }
}

TEST(SampleGradients, DoNotDependOnTheChunk) {
  const auto whole = network_problem("smallcnn:width=8", 10, 11, torch::kFloat64, {.chunk = 11});
  const auto cut = network_problem("smallcnn:width=8", 10, 11, torch::kFloat64, {.chunk = 4});
  const auto a = measure_sample_gradients(whole->objective);
  const auto b = measure_sample_gradients(cut->objective);
  EXPECT_LT(relative_error(a.squared_norms, b.squared_norms), 1e-12);
  EXPECT_LT(relative_error(a.gradient, b.gradient), 1e-12);
}

TEST(SampleGradients, LeaveTheNetworkAsItWas) {
  const auto problem = network_problem("smallcnn:width=8", 10, 4, torch::kFloat32);
  problem->model.module->train();
  std::vector<torch::Tensor> before;
  for (const auto& p : problem->model.module->parameters()) before.push_back(p.detach().clone());
  for (const auto& b : problem->model.module->buffers()) before.push_back(b.clone());
  measure_sample_gradients(problem->objective, {.statistics = BatchNorm::Statistics::kBatch});
  problem->objective.hessian_product(torch::randn_like(problem->parameters.values()));
  size_t i = 0;
  for (const auto& p : problem->model.module->parameters()) {
    EXPECT_TRUE(p.equal(before[i++]));
    EXPECT_TRUE(p.requires_grad());
    EXPECT_FALSE(p.grad().defined());
    EXPECT_FALSE(p._fw_grad(0).defined());
  }
  for (const auto& b : problem->model.module->buffers()) EXPECT_TRUE(b.equal(before[i++]));
  EXPECT_TRUE(problem->model.module->is_training());
}

// Statistics held fixed are those of the batch: put into the running statistics, evaluation mode must give
// the same.
TEST(SampleGradients, WithBatchStatisticsEqualALoopWithTheseStatisticsAsRunningOnes) {
  const auto problem = network_problem("smallcnn:width=8", 10, 6, torch::kFloat64, {.chunk = 6});
  const auto measured =
      measure_sample_gradients(problem->objective, {.statistics = BatchNorm::Statistics::kBatch});
  const auto with_running = measure_sample_gradients(problem->objective);
  EXPECT_GT(relative_error(measured.squared_norms, with_running.squared_norms), 1e-3);

  // Layer by layer, because each one's input depends on the statistics before it.
  std::vector<BatchNorm*> norms;
  for (const auto& module : problem->model.module->modules()) {
    if (auto* norm = dynamic_cast<BatchNorm*>(module.get())) norms.push_back(norm);
  }
  ASSERT_EQ(norms.size(), 3);
  struct Catch : LayerObserver {
    void on_forward(const Layer& layer, const torch::Tensor& input, const torch::Tensor&) override {
      if (&layer == wanted) moments = at::var_mean(input, {0, 2, 3}, /*unbiased=*/false);
    }
    const Layer* wanted = nullptr;
    std::tuple<torch::Tensor, torch::Tensor> moments;
  };
  problem->model.module->eval();
  const torch::NoGradGuard no_grad;
  for (BatchNorm* norm : norms) {
    Catch observer;
    observer.wanted = norm;
    {
      const LayerObservation observation(*problem->model.module, observer);
      problem->model.forward(problem->images);
    }
    norm->named_buffers()["running_var"].copy_(std::get<0>(observer.moments));
    norm->named_buffers()["running_mean"].copy_(std::get<1>(observer.moments));
  }
  const torch::AutoGradMode with_grad(true);
  expect_equal_to_a_loop(*problem, measured, 1e-9);
}

/// Modules of libtorch's own, which have no rule.
struct ForeignNetwork : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor maps = at::relu(norm(own->forward(at::relu(conv(images)))));
    return head(maps.flatten(1));
  }
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).stride(2)));
  std::shared_ptr<Convolution> own =
      register_module("own", std::make_shared<Convolution>(Convolution::Options{.in = 4, .out = 5}));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(5));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(5 * 13 * 13, 10));
};

std::unique_ptr<Problem> foreign_problem() {
  torch::manual_seed(1);
  auto network = std::make_shared<ForeignNetwork>();
  network->to(torch::kFloat64);
  return std::make_unique<Problem>(Model(network), torch::randn({4, 3, 32, 32}, torch::kFloat64),
                                   torch::randint(0, 10, {4}));
}

TEST(SampleGradients, OfModulesWithoutARuleAreLoopedOverWithANote) {
  const auto problem = foreign_problem();
  const auto measured = measure_sample_gradients(problem->objective);
  expect_equal_to_a_loop(*problem, measured, 1e-9);
  ASSERT_EQ(measured.notes.size(), 1);
  EXPECT_THAT(measured.notes[0], ::testing::HasSubstr("conv, norm, head"));
}

TEST(SampleGradients, WithBatchStatisticsAreRefusedWhereAModuleHasNoRule) {
  const auto problem = foreign_problem();
  testing::expect_error(
      [&] { measure_sample_gradients(problem->objective, {.statistics = BatchNorm::Statistics::kBatch}); },
      {"batch statistics need a rule", "conv, norm, head", "eval"});
}

TEST(SampleGradients, AreRefusedWhereBatchNormHasNoRunningStatistics) {
  struct Coupled : torch::nn::Module {
    torch::Tensor forward(const torch::Tensor& images) { return head(norm(images).flatten(1)); }
    torch::nn::BatchNorm2d norm = register_module(
        "norm", torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(3).track_running_stats(false)));
    torch::nn::Linear head = register_module("head", torch::nn::Linear(3 * 4 * 4, 10));
  };
  Problem problem(Model(std::make_shared<Coupled>()), torch::randn({2, 3, 4, 4}), torch::randint(0, 10, {2}));
  testing::expect_error([&] { measure_sample_gradients(problem.objective); },
                        {"no gradient of its own", "norm"});
}

// The norm of a sum is not the sum of the norms: a layer that is used twice has no rule.
TEST(SampleGradients, OfALayerThatIsUsedTwiceAreLoopedOver) {
  struct Shared : torch::nn::Module {
    torch::Tensor forward(const torch::Tensor& images) {
      return head->forward(layer->relu(layer->relu(images.flatten(1))));
    }
    std::shared_ptr<Linear> layer = register_module("layer", std::make_shared<Linear>(12, 12));
    std::shared_ptr<Linear> head = register_module("head", std::make_shared<Linear>(12, 10));
  };
  auto network = std::make_shared<Shared>();
  network->to(torch::kFloat64);
  Problem problem(Model(network), torch::randn({5, 3, 2, 2}, torch::kFloat64), torch::randint(0, 10, {5}));
  const auto measured = measure_sample_gradients(problem.objective);
  expect_equal_to_a_loop(problem, measured, 1e-9);
  ASSERT_EQ(measured.notes.size(), 1);
}

TEST(SampleGradients, OfFrozenLayersDoNotCount) {
  Model model = testing::used_network("smallcnn:width=8", 10, torch::kFloat64);
  model.module->parameters()[0].set_requires_grad(false);
  Problem problem(model, torch::randn({4, 3, 32, 32}, torch::kFloat64), torch::randint(0, 10, {4}));
  expect_equal_to_a_loop(problem, measure_sample_gradients(problem.objective), 1e-9);
}

TEST(SampleGradients, OfLinearRegressionHaveTheirClosedForm) {
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    const testing::LinearRegression regression(20, 6, reduction);
    const auto measured = measure_sample_gradients(regression.problem->objective);
    const torch::Tensor gradients = regression.sample_gradients();
    EXPECT_LT(relative_error(measured.squared_norms, gradients.square().sum(1)), 1e-12);
    const torch::Tensor sum = gradients.sum(0) / (reduction == Reduction::kMean ? 20 : 1);
    EXPECT_LT(relative_error(measured.gradient, sum), 1e-12);
  }
}

TEST(ObjectiveFunction, WithoutSamplesIsRefused) {
  auto network = std::make_shared<testing::LinearRegression::Network>(3);
  FlatParameters parameters(*network);
  testing::expect_error([&] { ObjectiveFunction(Model(network), parameters, {}, {}); }, {"no samples"});
}

}  // namespace
}  // namespace batchplus
