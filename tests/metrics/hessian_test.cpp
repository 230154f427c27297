#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include "core/torch_versions.h"
#include "layers/convolution.h"
#include "metrics/hessian_trace.h"
#include "metrics/lanczos.h"
#include "metrics/objective_function.h"
#include "networks/small_cnn.h"
#include "support/problem.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

using testing::LinearRegression;
using testing::network_problem;
using testing::Problem;
using testing::relative_error;

/// A convolutional network with BatchNorm of a few hundred parameters.
std::unique_ptr<Problem> tiny_problem(Reduction reduction) {
  torch::manual_seed(2);
  auto network = std::make_shared<SmallCnn>(
      SmallCnn::Options{.channels = 3, .side = 8, .classes = 4, .width = 2, .hidden = 5, .dropout = 0.25});
  network->to(torch::kFloat64);
  for (int i = 0; i < 3; ++i) network->forward(torch::randn({8, 3, 8, 8}, torch::kFloat64));
  return std::make_unique<Problem>(Model(network), torch::randn({6, 3, 8, 8}, torch::kFloat64),
                                   torch::randint(0, 4, {6}),
                                   ObjectiveFunction::Options{.reduction = reduction, .chunk = 4});
}

/// Column by column from products.
torch::Tensor full_hessian(const ObjectiveFunction& objective) {
  const torch::Tensor unit = torch::eye(objective.size(), torch::kFloat64);
  std::vector<torch::Tensor> columns;
  for (int64_t i = 0; i < objective.size(); ++i) columns.push_back(objective.hessian_product(unit[i]));
  return at::stack(columns, 1);
}

/// By autograd, one row of second derivatives after the other.
torch::Tensor autograd_hessian(Problem& problem) {
  problem.model.module->eval();
  const torch::Tensor losses = problem.options.loss(problem.model.forward(problem.images), problem.labels);
  const torch::Tensor value = problem.options.reduction == Reduction::kMean ? losses.mean() : losses.sum();
  const auto gradients =
      torch::autograd::grad({value}, problem.parameters.tensors(), {}, /*retain_graph=*/true,
                            /*create_graph=*/true);
  std::vector<torch::Tensor> flat;
  for (const auto& gradient : gradients) flat.push_back(gradient.reshape(-1));
  const torch::Tensor gradient = at::cat(flat);
  std::vector<torch::Tensor> rows;
  for (int64_t i = 0; i < gradient.numel(); ++i) {
    const torch::Tensor row = torch::zeros_like(problem.parameters.values());
    problem.parameters.gather(torch::autograd::grad({gradient[i]}, problem.parameters.tensors(), {},
                                                    /*retain_graph=*/true, /*create_graph=*/false,
                                                    /*allow_unused=*/true),
                              row);
    rows.push_back(row);
  }
  return at::stack(rows);
}

TEST(HessianProduct, EqualsTheWholeHessianByAutograd) {
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    const auto problem = tiny_problem(reduction);
    EXPECT_LT(relative_error(full_hessian(problem->objective), autograd_hessian(*problem)), 1e-11);
  }
}

// A central difference of gradients is exact up to h^2 and rounding / h, where no activation changes sign.
TEST(HessianProduct, EqualsTheWholeHessianByFiniteDifferences) {
  const auto problem = tiny_problem(Reduction::kMean);
  const torch::Tensor w = problem->parameters.values().clone();
  constexpr double kStep = 1e-6;
  std::vector<torch::Tensor> columns;
  const auto gradient_at = [&](const torch::Tensor& point) {
    problem->parameters.values().copy_(point);
    return problem->slow_gradient(problem->images, problem->labels) / problem->images.size(0);
  };
  for (int64_t i = 0; i < w.numel(); ++i) {
    const torch::Tensor step = torch::zeros_like(w);
    step[i] = kStep;
    columns.push_back((gradient_at(w + step) - gradient_at(w - step)) / (2 * kStep));
  }
  problem->parameters.values().copy_(w);
  EXPECT_LT(relative_error(full_hessian(problem->objective), at::stack(columns, 1)), 1e-7);
}

TEST(HessianProduct, OfEveryNetworkEqualsReverseOverReverse) {
  for (const std::string& name : testing::small_networks()) {
    for (const int64_t classes : {10, 100}) {
      const auto problem = network_problem(name, classes, 3, torch::kFloat64, {.chunk = 2});
      torch::manual_seed(8);
      const torch::Tensor v = torch::randn_like(problem->parameters.values());
      const torch::Tensor product = problem->objective.hessian_product(v);
      EXPECT_LT(relative_error(product, problem->slow_hessian_product(v)), 1e-9) << name << ", " << classes;
    }
  }
}

/// x^3, which libtorch cannot differentiate forwards.
class Cube : public torch::autograd::Function<Cube> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x) {
    context->save_for_backward({x});
    return x * x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {3 * context->get_saved_variables()[0].square() * gradients[0]};
  }
};

TEST(HessianProduct, OfForeignModulesIsExactWhetherLibtorchDifferentiatesThemForwardsOrNot) {
  struct Foreign : torch::nn::Module {
    explicit Foreign(bool is_forward) : is_forward_differentiable(is_forward) {}
    torch::Tensor forward(const torch::Tensor& images) {
      const torch::Tensor x = norm(images);
      return head((is_forward_differentiable ? at::tanh(x) : Cube::apply(x)).flatten(1));
    }
    bool is_forward_differentiable;
    torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(3));
    torch::nn::Linear head = register_module("head", torch::nn::Linear(12, 3));
  };
  for (const bool is_forward_differentiable : {true, false}) {
    torch::manual_seed(1);
    auto network = std::make_shared<Foreign>(is_forward_differentiable);
    network->to(torch::kFloat64);
    Problem problem(Model(network), torch::randn({5, 3, 2, 2}, torch::kFloat64), torch::randint(0, 3, {5}));
    EXPECT_LT(relative_error(full_hessian(problem.objective), autograd_hessian(problem)), 1e-11)
        << is_forward_differentiable;
  }
}

// Layers between foreign modules, in single precision: own kernels compute them where libtorch can do the
// rest forwards, and step aside where it cannot.
TEST(HessianProduct, OfLayersAmongForeignModulesIsThatOfDouble) {
  struct Mixed : torch::nn::Module {
    explicit Mixed(bool is_forward) : is_forward_differentiable(is_forward) {}
    torch::Tensor forward(const torch::Tensor& images) {
      const torch::Tensor x = convolution->forward(images);
      return head->forward((is_forward_differentiable ? at::tanh(x) : Cube::apply(x)).flatten(1));
    }
    bool is_forward_differentiable;
    std::shared_ptr<Convolution> convolution =
        register_module("convolution", make_convolution({.in = 3, .out = 4, .padding = 1}));
    std::shared_ptr<Linear> head = register_module("head", std::make_shared<Linear>(16, 3));
  };
  for (const bool is_forward_differentiable : {true, false}) {
    torch::manual_seed(1);
    auto network = std::make_shared<Mixed>(is_forward_differentiable);
    const torch::Tensor images = torch::randn({5, 3, 2, 2});
    const torch::Tensor labels = torch::randint(0, 3, {5});
    torch::Tensor product;
    torch::Tensor v;
    {
      Problem problem(Model(network), images, labels);
      v = torch::randn_like(problem.parameters.values());
      product = problem.objective.hessian_product(v);
    }
    network->to(torch::kFloat64);
    Problem exact(Model(network), images.to(torch::kFloat64), labels);
    EXPECT_LT(relative_error(product, exact.slow_hessian_product(v.to(torch::kFloat64))), 2e-6)
        << is_forward_differentiable;
  }
}

// Chunks must not share memory.
TEST(ObjectiveGradient, OverSeveralChunksIsThatOfAllSamplesAtOnce) {
  const auto problem = tiny_problem(Reduction::kSum);
  EXPECT_LT(
      relative_error(problem->objective.gradient(), problem->slow_gradient(problem->images, problem->labels)),
      1e-12);
}

TEST(HessianProduct, OfLinearRegressionIsItsClosedForm) {
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    const LinearRegression regression(20, 6, reduction);
    EXPECT_LT(relative_error(full_hessian(regression.problem->objective), regression.hessian()), 1e-12);
  }
}

/// A symmetric matrix with the given eigenvalues.
torch::Tensor matrix_with(const std::vector<double>& eigenvalues) {
  torch::manual_seed(3);
  const auto d = static_cast<int64_t>(eigenvalues.size());
  const torch::Tensor q = std::get<0>(at::linalg_qr(torch::randn({d, d}, torch::kFloat64)));
  return q.mm(torch::diag(torch::tensor(eigenvalues, torch::kFloat64))).mm(q.t());
}

std::vector<double> spectrum(int64_t d) {
  std::vector<double> values;
  for (int64_t i = 0; i < d; ++i) values.push_back(std::cos(static_cast<double>(i)));
  return values;
}

TEST(Lanczos, FindsTheLargestMagnitudesWithTheirSigns) {
  std::vector<double> eigenvalues = spectrum(200);
  eigenvalues[3] = -9;
  eigenvalues[70] = 7;
  eigenvalues[150] = 4;
  const torch::Tensor matrix = matrix_with(eigenvalues);
  const auto found = largest_eigenvalues(matrix[0], [&](const torch::Tensor& v) { return matrix.mv(v); },
                                         {.eigenvalues = 3, .max_products = 60, .tolerance = 1e-8});
  EXPECT_TRUE(found.is_converged);
  EXPECT_LT(found.products, 60);
  ASSERT_EQ(found.top.size(), 3);
  EXPECT_NEAR(found.top[0].value, -9, 1e-9);
  EXPECT_NEAR(found.top[1].value, 7, 1e-9);
  EXPECT_NEAR(found.top[2].value, 4, 1e-9);
}

// Stopped early, the bound must still hold: an eigenvalue lies within it.
TEST(Lanczos, BoundsItsErrorAtEveryNumberOfProducts) {
  std::vector<double> eigenvalues = spectrum(100);
  eigenvalues[0] = 1.3;
  const torch::Tensor matrix = matrix_with(eigenvalues);
  constexpr double kNorm = 1.3;  // a residual is no longer than the matrix's product with a unit vector
  for (const int64_t products : {1, 2, 3, 5, 8, 13, 21}) {
    const auto found = largest_eigenvalues(matrix[0], [&](const torch::Tensor& v) { return matrix.mv(v); },
                                           {.max_products = products, .tolerance = 0});
    EXPECT_EQ(found.products, products);
    EXPECT_FALSE(found.is_converged);
    double nearest = 1e9;
    for (const double exact : eigenvalues) nearest = std::min(nearest, std::abs(exact - found.top[0].value));
    EXPECT_LE(nearest, found.top[0].error_bound + 1e-12) << products;
    EXPECT_LE(found.top[0].error_bound, kNorm) << products;
  }
}

TEST(Lanczos, GoesOnWhenItsSpaceIsExhausted) {
  // Rank two: the space that Lanczos spans from any start has three dimensions.
  std::vector<double> eigenvalues(12, 0.0);
  eigenvalues[4] = 5;
  eigenvalues[7] = -2;
  const torch::Tensor matrix = matrix_with(eigenvalues);
  const auto found = largest_eigenvalues(matrix[0], [&](const torch::Tensor& v) { return matrix.mv(v); },
                                         {.eigenvalues = 12, .max_products = 12, .tolerance = 1e-6});
  ASSERT_EQ(found.top.size(), 12);
  EXPECT_NEAR(found.top[0].value, 5, 1e-9);
  EXPECT_NEAR(found.top[1].value, -2, 1e-9);
  for (size_t i = 2; i < 12; ++i) EXPECT_NEAR(found.top[i].value, 0, 1e-9);
}

TEST(Lanczos, IsTheSameForTheSameSeedAndDrawsNothingFromLibtorch) {
  const torch::Tensor matrix = matrix_with(spectrum(50));
  const auto run = [&](uint64_t seed) {
    return largest_eigenvalues(matrix[0], [&](const torch::Tensor& v) { return matrix.mv(v); },
                               {.max_products = 4, .seed = seed})
        .top[0]
        .value;
  };
  torch::manual_seed(1);
  const auto expected = torch::rand({3});
  torch::manual_seed(1);
  const double first = run(1);
  EXPECT_TRUE(torch::rand({3}).equal(expected));
  EXPECT_EQ(first, run(1));
  EXPECT_NE(first, run(2));
}

TEST(Lanczos, SaysNothingOfAMatrixThatIsNotFinite) {
  const auto found =
      largest_eigenvalues(torch::zeros({4}), [](const torch::Tensor& v) { return v / 0.0; }, {});
  EXPECT_FALSE(found.is_converged);
  ASSERT_EQ(found.top.size(), 1);
  EXPECT_TRUE(std::isnan(found.top[0].value));
}

TEST(Lanczos, FindsTheCurvatureOfLinearRegression) {
  const LinearRegression regression(30);
  const ObjectiveFunction& objective = regression.problem->objective;
  const auto found = largest_eigenvalues(objective.parameters().values(),
                                         [&](const torch::Tensor& v) { return objective.hessian_product(v); },
                                         {.tolerance = 1e-10});
  const torch::Tensor exact = std::get<0>(at::linalg_eigh(regression.hessian()));
  EXPECT_NEAR(found.top[0].value, exact.max().item<double>(), 1e-9);
}

TEST(HutchinsonTrace, IsWithinItsStandardErrorAndExactOnADiagonal) {
  const torch::Tensor diagonal = torch::arange(1, 41, torch::kFloat64);
  const auto exact = hutchinson_trace(
      diagonal, [&](const torch::Tensor& v) { return diagonal * v; }, 2, 1);
  EXPECT_NEAR(exact.value, 820, 1e-9);
  EXPECT_NEAR(exact.standard_error, 0, 1e-9);

  const torch::Tensor matrix = matrix_with(spectrum(40));
  const auto estimate = hutchinson_trace(
      matrix[0], [&](const torch::Tensor& v) { return matrix.mv(v); }, 400, 1);
  EXPECT_EQ(estimate.draws, 400);
  EXPECT_NEAR(estimate.value, matrix.trace().item<double>(), 4 * estimate.standard_error);
  // Var(z^T A z) = 2 (||A||_F^2 - sum_i A_ii^2); 400 draws know it to about a tenth.
  const double variance = 2 * (matrix.square().sum() - matrix.diagonal().square().sum()).item<double>();
  EXPECT_NEAR(estimate.standard_error, std::sqrt(variance / 400), 0.3 * std::sqrt(variance / 400));
}

}  // namespace
}  // namespace batchplus
