// docs/theory.md: the mean over all orders of where a method's steps end is where the gradient flow of a
// modified loss ends, but for a third order in the learning rate. With another factor the distance is of
// second order.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/rig.h"
#include "support/smooth_problem.h"

namespace batchplus {
namespace {

using testing::flow;
using testing::gradient_of;
using testing::largest_difference;
using testing::make_method;
using testing::SampleIndices;
using testing::ScalarFunction;
using testing::SmoothProblem;
using torch::Tensor;

using InnerBatches = std::vector<SampleIndices>;

/// K inner batches of b samples, one after the other.
InnerBatches cut(const SampleIndices& samples, int64_t inner_batches, int64_t b) {
  InnerBatches batches;
  for (int64_t t = 0; t < inner_batches; ++t)
    batches.emplace_back(samples.begin() + t * b, samples.begin() + (t + 1) * b);
  return batches;
}

struct Momentum {
  double beta = 0;
  bool is_nesterov = false;
};

/// An outer batch of the control-variate estimator from w. With momentum, it runs out in the end: every
/// gradient has then moved the weights by eta / (1 - beta) times itself.
Tensor control_variate_steps(const SmoothProblem& problem, Tensor w, const InnerBatches& batches,
                             const SampleIndices& outer, double c, double eta, Momentum momentum = {}) {
  const Tensor snapshot = w;
  const Tensor mu = problem.gradient(snapshot, outer);
  const auto [beta, is_nesterov] = momentum;
  Tensor m = torch::zeros_like(w);
  for (const SampleIndices& batch : batches) {
    const Tensor v = problem.gradient(w, batch) + c * (problem.gradient(snapshot, batch) - mu);
    m = beta * m + v;
    w = w - eta * (is_nesterov ? v + beta * m : m);
  }
  return w - eta * beta / (1 - beta) * (is_nesterov ? beta * m : m);
}

Tensor sarah_steps(const SmoothProblem& problem, Tensor w, const InnerBatches& batches,
                   const SampleIndices& outer, double eta) {
  Tensor v = problem.gradient(w, outer);
  for (size_t t = 0; t < batches.size(); ++t) {
    if (t > 0) {
      const Tensor before = w + eta * v;
      v = problem.gradient(w, batches[t]) - problem.gradient(before, batches[t]) + v;
    }
    w = w - eta * v;
  }
  return w;
}

Tensor sam_steps(const SmoothProblem& problem, Tensor w, const InnerBatches& batches, double radius,
                 double eta) {
  for (const SampleIndices& batch : batches) {
    const Tensor g = problem.gradient(w, batch);
    w = w - eta * problem.gradient(w + radius * g / g.norm(), batch);
  }
  return w;
}

/// The mean of `end` over all orders of n things.
template <class Function>
Tensor mean_over_orders(int64_t n, const Function& end) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Tensor sum = torch::zeros({SmoothProblem::kWeights}, torch::kFloat64);
  double count = 0;
  do {
    sum += end(order);
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / count;
}

InnerBatches in_order(const InnerBatches& batches, const std::vector<int64_t>& order) {
  InnerBatches ordered;
  for (const int64_t t : order) ordered.push_back(batches[static_cast<size_t>(t)]);
  return ordered;
}

Tensor squared(const Tensor& v) {
  return v.square().sum();
}

/// The mean of ||grad||^2 over batches, and their variance: that less the squared length of the mean.
Tensor mean_square(const SmoothProblem& problem, const Tensor& w, const InnerBatches& batches) {
  Tensor sum = torch::zeros({}, torch::kFloat64);
  for (const SampleIndices& batch : batches) sum = sum + squared(problem.differentiable_gradient(w, batch));
  return sum / static_cast<double>(batches.size());
}

/// F + (eta/4) (||grad F||^2 + factor Var), F and Var over these batches.
ScalarFunction modified_loss(const SmoothProblem& problem, const InnerBatches& batches,
                             const SampleIndices& outer, double factor, double eta) {
  return [=, &problem](const Tensor& w) {
    const Tensor full = squared(problem.differentiable_gradient(w, outer));
    const Tensor variance = mean_square(problem, w, batches) - full;
    return problem.loss(w, outer) + eta / 4 * (full + factor * variance);
  };
}

/// The power of eta with which a distance falls, from two learning rates.
double order_of(const std::function<double(double eta)>& distance) {
  constexpr double kEta = 0.001;
  return std::log2(distance(kEta) / distance(kEta / 2));
}

/// That of the distance between `end` and the flow of `loss` from the same start for so many steps' time.
double order_of_miss(const SmoothProblem& problem, double steps, const std::function<Tensor(double eta)>& end,
                     const std::function<ScalarFunction(double eta)>& loss) {
  return order_of([&](double eta) {
    return (end(eta) - flow(loss(eta), problem.start, steps * eta)).norm().item<double>();
  });
}

// The next order's term is about eta times as large: it bends the slope by hundredths.
constexpr double kBend = 0.1;

class ModifiedLoss : public ::testing::TestWithParam<std::tuple<int64_t, double>> {
 protected:
  /// K inner batches of two samples and a coefficient.
  int64_t inner_batches() const { return std::get<0>(GetParam()); }
  double c() const { return std::get<1>(GetParam()); }
};

/// Outer batches of K = 2.
class ModifiedLossOfTwo : public ModifiedLoss {};
class ModifiedLossUnderMomentum : public ModifiedLoss {};

TEST_P(ModifiedLoss, IsMissedByAThirdOrderAndWithAWrongFactorByASecond) {
  const int64_t k = inner_batches();
  const SmoothProblem problem(2 * k);
  const InnerBatches batches = cut(problem.all(), k, 2);
  const auto end = [&](double eta) {
    return mean_over_orders(k, [&](const auto& order) {
      return control_variate_steps(problem, problem.start, in_order(batches, order), problem.all(), c(), eta);
    });
  };
  const auto order_with = [&](double factor) {
    return order_of_miss(problem, static_cast<double>(k), end, [&](double eta) {
      return modified_loss(problem, batches, problem.all(), factor, eta);
    });
  };
  EXPECT_NEAR(order_with(1 + c()), 3, kBend);
  EXPECT_NEAR(order_with(1 + c() + 0.5), 2, kBend) << "a little more";
  EXPECT_NEAR(order_with(1 + c() - 0.5), 2, kBend) << "a little less";
  if (c() != 0) {
    EXPECT_NEAR(order_with(1), 2, kBend) << "that of SGD";
  }
}

/// With F and the variance of single samples.
double order_over_samples(const SmoothProblem& problem, double steps, double factor,
                          const std::function<Tensor(double eta)>& end) {
  const InnerBatches samples = cut(problem.all(), problem.size, 1);
  return order_of_miss(problem, steps, end, [&](double eta) {
    return modified_loss(problem, samples, problem.all(), factor, eta);
  });
}

// n = 4 samples, b = 1, two outer batches of K = 2 from one shuffled pass, all 24 orders of samples.
TEST_P(ModifiedLossOfTwo, InAShuffledPassHasTheVarianceOfSamples) {
  const SmoothProblem problem(4);
  const auto end = [&](double eta) {
    return mean_over_orders(4, [&](const auto& order) {
      Tensor w = problem.start;
      for (const auto begin : {0, 2}) {
        const SampleIndices outer(order.begin() + begin, order.begin() + begin + 2);
        w = control_variate_steps(problem, w, cut(outer, 2, 1), outer, c(), eta);
      }
      return w;
    });
  };
  const double n = 4;
  const double factor = n / (n - 1) * (1 - 1 / n + c() / 2);
  EXPECT_NEAR(order_over_samples(problem, 4, factor, end), 3, kBend);
  EXPECT_NEAR(order_over_samples(problem, 4, factor + 0.5, end), 2, kBend);
}

// The same, each outer batch drawn afresh: 12 x 12 ordered pairs. What SGD owes to the pass is gone.
TEST_P(ModifiedLossOfTwo, DrawnAfreshHasLittleButTheControlVariatesPart) {
  const SmoothProblem problem(4);
  std::vector<SampleIndices> draws;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      if (i != j) draws.push_back({i, j});
    }
  }
  const auto end = [&](double eta) {
    Tensor sum = torch::zeros_like(problem.start);
    for (const SampleIndices& first : draws) {
      const Tensor w = control_variate_steps(problem, problem.start, cut(first, 2, 1), first, c(), eta);
      for (const SampleIndices& second : draws)
        sum += control_variate_steps(problem, w, cut(second, 2, 1), second, c(), eta);
    }
    return sum / static_cast<double>(draws.size() * draws.size());
  };
  const double n = 4;
  const double factor = 1 / (n - 1) * (c() * n / 2 + 1);
  EXPECT_NEAR(order_over_samples(problem, 4, factor, end), 3, kBend);
  EXPECT_NEAR(order_over_samples(problem, 4, factor + 1, end), 2, kBend);
}

// B = 5, b = 2: one sample counts in mu and makes no step. All 120 orders of samples.
TEST_P(ModifiedLossOfTwo, WithARemainderHasALittleLessVariance) {
  const SmoothProblem problem(5);
  const auto end = [&](double eta) {
    return mean_over_orders(5, [&](const auto& order) {
      return control_variate_steps(problem, problem.start, cut(order, 2, 2), problem.all(), c(), eta);
    });
  };
  // (K-1)/(B-1) of the samples' variance.
  const double factor = (1 + c()) / 4;
  EXPECT_NEAR(order_over_samples(problem, 2, factor, end), 3, kBend);
  EXPECT_NEAR(order_over_samples(problem, 2, factor + 0.2, end), 2, kBend);
}

// What the control variate adds under momentum: its noise sums to zero over an outer batch, so that steps
// which carry on for long undo most of it.
TEST_P(ModifiedLossUnderMomentum, KeepsAPartOfTheControlVariate) {
  const int64_t k = inner_batches();
  const SmoothProblem problem(2 * k);
  const InnerBatches batches = cut(problem.all(), k, 2);
  const ScalarFunction variance = [&](const Tensor& w) {
    return mean_square(problem, w, batches) - squared(problem.differentiable_gradient(w, problem.all()));
  };
  for (const Momentum momentum : {Momentum{0.9, false}, Momentum{0.9, true}, Momentum{0.5, false}}) {
    const double beta = momentum.beta;
    double kept = 0;
    for (int64_t lag = 1; lag < k; ++lag) {
      const double carried = 1 - std::pow(beta, static_cast<double>(lag + (momentum.is_nesterov ? 1 : 0)));
      kept += 2.0 / static_cast<double>(k * (k - 1)) * static_cast<double>(k - lag) * carried;
    }
    const auto order_with = [&](double part) {
      return order_of([&](double eta) {
        const auto mean = [&](double coefficient) {
          return mean_over_orders(k, [&](const auto& order) {
            return control_variate_steps(problem, problem.start, in_order(batches, order), problem.all(),
                                         coefficient, eta * (1 - beta), momentum);
          });
        };
        // eta is the effective rate.
        const Tensor expected =
            -static_cast<double>(k) * eta * eta / 4 * c() * part * gradient_of(variance, problem.start);
        return (mean(c()) - mean(0) - expected).norm().item<double>();
      });
    };
    EXPECT_NEAR(order_with(kept), 3, kBend) << beta << momentum.is_nesterov;
    EXPECT_NEAR(order_with(1), 2, kBend) << beta << momentum.is_nesterov;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<int64_t, double>>& info) {
  const auto [k, c] = info.param;
  return fmt::format("K{}C{}{:g}", k, c < 0 ? "Minus" : "", std::abs(c));
}

INSTANTIATE_TEST_SUITE_P(InnerBatchesAndCoefficients, ModifiedLoss,
                         ::testing::Combine(::testing::Values(2, 3, 4), ::testing::Values(-1, 0, 1, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Coefficients, ModifiedLossOfTwo,
                         ::testing::Combine(::testing::Values(2), ::testing::Values(-1, 0, 1, 3)), name_of);
INSTANTIATE_TEST_SUITE_P(InnerBatchesAndCoefficients, ModifiedLossUnderMomentum,
                         ::testing::Combine(::testing::Values(2, 4), ::testing::Values(-1, 1, 3)), name_of);

TEST(ModifiedLossOfSarah, IsThatOfSvrg) {
  const SmoothProblem problem(6);
  const InnerBatches batches = cut(problem.all(), 3, 2);
  const auto end = [&](double eta) {
    return mean_over_orders(3, [&](const auto& order) {
      return sarah_steps(problem, problem.start, in_order(batches, order), problem.all(), eta);
    });
  };
  const auto order_with = [&](double factor) {
    return order_of_miss(problem, 3, end, [&](double eta) {
      return modified_loss(problem, batches, problem.all(), factor, eta);
    });
  };
  EXPECT_NEAR(order_with(0), 3, kBend);
  EXPECT_NEAR(order_with(0.5), 2, kBend);
}

// rho ||g_t|| beside what SGD penalises, for a radius that falls with eta.
TEST(ModifiedLossOfSam, PenalisesTheLengthOfTheInnerGradients) {
  const SmoothProblem problem(6);
  const InnerBatches batches = cut(problem.all(), 3, 2);
  constexpr double kRadiusOverEta = 2;
  const auto end = [&](double eta) {
    return mean_over_orders(3, [&](const auto& order) {
      return sam_steps(problem, problem.start, in_order(batches, order), kRadiusOverEta * eta, eta);
    });
  };
  const auto order_with = [&](double strength) {
    return order_of_miss(problem, 3, end, [&](double eta) -> ScalarFunction {
      return [&, eta](const Tensor& w) {
        Tensor lengths = torch::zeros({}, torch::kFloat64);
        for (const SampleIndices& batch : batches)
          lengths = lengths + problem.differentiable_gradient(w, batch).norm() / 3;
        return modified_loss(problem, batches, problem.all(), 1, eta)(w) +
               strength * kRadiusOverEta * eta * lengths;
      };
    });
  };
  EXPECT_NEAR(order_with(1), 3, kBend);
  EXPECT_NEAR(order_with(0.5), 2, kBend);
}

// The recursions above are what the program runs.
TEST(ModifiedLossSteps, AreThoseOfTheProgram) {
  constexpr double kEta = 0.1;
  // Some steps of float arithmetic on weights of order 1.
  constexpr double kRounding = 3e-6;
  const SmoothProblem problem(9);
  const OuterBatch outer(problem.images.to(torch::kFloat32), problem.labels, 2, {0, 1, 2, 3, 4});
  const InnerBatches batches = cut(problem.all(), 4, 2);
  const auto run = [&](const std::string& name, const testing::MethodSettings& settings) {
    testing::Rig rig(Model(std::make_shared<testing::SmoothNetwork>(problem.start)));
    Method method = make_method(rig, name, {9, 2}, settings);
    EXPECT_TRUE(method.run(outer, 0, kEta).is_finite);
    return rig.weights();
  };
  for (const double c : {-1.0, 0.0, 1.0, 3.0}) {
    const Tensor expected = control_variate_steps(problem, problem.start, batches, problem.all(), c, kEta);
    EXPECT_GT(largest_difference(expected, problem.start), 0.01) << "it moves";
    EXPECT_LT(largest_difference(run("b-svrg", {.coefficient = std::to_string(c)}), expected), kRounding)
        << c;
  }
  EXPECT_LT(
      largest_difference(run("sarah", {}), sarah_steps(problem, problem.start, batches, problem.all(), kEta)),
      kRounding);
  constexpr double kDefaultRadius = 0.05;
  EXPECT_LT(
      largest_difference(run("sam", {}), sam_steps(problem, problem.start, batches, kDefaultRadius, kEta)),
      kRounding);
}

}  // namespace
}  // namespace batchplus
