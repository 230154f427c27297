#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "layers/convolution.h"
#include "layers/group_norm.h"
#include "metrics/sample_gradients.h"
#include "support/problem.h"

namespace batchplus {
namespace {

using testing::relative_error;

/// conv-GN-tanh-conv-GN-ReLU-linear: a GroupNorm with layers before it, whose tangents reach it. 8 channels
/// are 2 groups.
struct GroupedNetwork : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor x = at::tanh(norm1->forward(conv1->forward(images)));
    return head->forward(norm2->relu(conv2->forward(x)).flatten(1));
  }
  std::shared_ptr<Convolution> conv1 = register_module("conv1", make_convolution({.in = 3, .out = 8}));
  std::shared_ptr<GroupNorm> norm1 = register_module("norm1", std::make_shared<GroupNorm>(8));
  std::shared_ptr<Convolution> conv2 = register_module("conv2", make_convolution({.in = 8, .out = 8}));
  std::shared_ptr<GroupNorm> norm2 = register_module("norm2", std::make_shared<GroupNorm>(8));
  std::shared_ptr<Linear> head = register_module("head", std::make_shared<Linear>(32, 4));
};

std::unique_ptr<testing::Problem> grouped_problem(torch::Dtype type) {
  torch::manual_seed(1);
  auto network = std::make_shared<GroupedNetwork>();
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor parameter : network->parameters()) {
      if (parameter.dim() == 1) parameter += 0.3 * torch::randn_like(parameter);
    }
  }
  network->to(type);
  const torch::Tensor images = torch::randn({5, 3, 6, 6}, type).contiguous(torch::MemoryFormat::ChannelsLast);
  return std::make_unique<testing::Problem>(Model(network), images, torch::randint(0, 4, {5}),
                                            ObjectiveFunction::Options{.chunk = 2});
}

TEST(GroupNormRule, GivesTheNormsOfALoopOverSamples) {
  // In single precision sums over 16 pixels and three layers round.
  for (const auto& [type, tolerance] :
       {std::pair{torch::kFloat64, 1e-12}, std::pair{torch::kFloat32, 1e-4}}) {
    const auto problem = grouped_problem(type);
    const SampleGradientNorms measured = measure_sample_gradients(problem->objective);
    const torch::Tensor gradients = problem->slow_sample_gradients();
    EXPECT_LT(relative_error(measured.squared_norms, gradients.square().sum(1)), tolerance);
    EXPECT_LT(relative_error(measured.gradient, gradients.mean(0)), tolerance);
    EXPECT_TRUE(measured.notes.empty());
  }
}

TEST(GroupNormRule, GivesTheHessianProductsOfAutograd) {
  const auto problem = grouped_problem(torch::kFloat64);
  const torch::Tensor v = torch::randn_like(problem->parameters.values());
  EXPECT_LT(relative_error(problem->objective.hessian_product(v), problem->slow_hessian_product(v)), 1e-11);
}

}  // namespace
}  // namespace batchplus
