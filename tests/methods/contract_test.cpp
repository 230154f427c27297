// What every method of the table must do. A new method joins by being in the table.

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <regex>

#include "objective/loss.h"
#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::make_method;
using testing::random_outer_batch;
using testing::Rig;

class MethodContract : public ::testing::TestWithParam<std::string> {};

/// Gradient evaluations that an outer batch of K inner batches costs by the words of the table: "2 a step",
/// or "2K-1 an outer batch of K steps (3K-2 recomputed)".
double expected_evaluations(const std::string& method, int64_t inner_batches, SnapshotGradients snapshot) {
  const std::string& words = find_method(method, "test").cost_words;
  const auto k = static_cast<double>(inner_batches);
  std::smatch found;
  if (std::regex_match(words, found, std::regex(R"((\d+) a step)"))) return std::stod(found[1]) * k;
  const std::regex of_outer_batch(
      R"((\d+)K-(\d+) an outer batch of K steps(?: \((\d+)K-(\d+) recomputed\))?)");
  if (!std::regex_match(words, found, of_outer_batch)) {
    ADD_FAILURE() << method << " costs '" << words << "', which this test does not understand";
    return 0;
  }
  const size_t which = snapshot == SnapshotGradients::kRecompute && found[3].matched ? 3 : 1;
  return std::stod(found[which]) * k - std::stod(found[which + 1]);
}

/// Whether an outer batch begins with a gradient of all its samples.
bool has_snapshot(const std::string& method) {
  return find_method(method, "test").cost_words.find("outer batch") != std::string::npos;
}

TEST_P(MethodContract, CountsExactlyItsGradientEvaluations) {
  for (const auto snapshot : {SnapshotGradients::kCache, SnapshotGradients::kRecompute}) {
    for (const int64_t inner_batches : {1, 2, 5}) {
      Rig rig(testing::small_mlp());
      Method method = make_method(rig, GetParam(), {inner_batches * 8, 8}, {.snapshot = snapshot});
      const auto outcome = method.run(random_outer_batch(inner_batches * 8, 8), 0, 0.1);
      EXPECT_EQ(outcome.inner_steps, inner_batches);
      EXPECT_EQ(rig.budget.gradient_evaluations(8),
                expected_evaluations(GetParam(), inner_batches, snapshot));
      EXPECT_EQ(rig.budget.sample_gradients(), method.cost(inner_batches * 8)) << "the cost announced before";
    }
  }
}

TEST_P(MethodContract, TakesOnlyFullInnerBatchesAndCountsTheRemainderInTheSnapshot) {
  // B = 100, b = 30: three steps, and a remainder of 10 that only mu sees.
  for (const auto snapshot : {SnapshotGradients::kCache, SnapshotGradients::kRecompute}) {
    Rig rig(testing::small_mlp());
    Method method = make_method(rig, GetParam(), {100, 30}, {.snapshot = snapshot});
    EXPECT_EQ(method.run(random_outer_batch(100, 30), 0, 0.1).inner_steps, 3);
    const double expected =
        30 * expected_evaluations(GetParam(), 3, snapshot) + (has_snapshot(GetParam()) ? 10 : 0);
    EXPECT_EQ(static_cast<double>(rig.budget.sample_gradients()), expected);
    EXPECT_EQ(rig.budget.sample_gradients(), method.cost(100));
  }
}

TEST_P(MethodContract, KeepsAVectorForEachInnerGradientThatItNeedNotRecompute) {
  const MethodInfo& info = find_method(GetParam(), "test");
  OuterBatchShape four{.samples = 32, .inner_batch = 8, .is_cached = true};
  const int64_t cached_cost = info.cost(four);
  OuterBatchShape seven = four;
  seven.samples = 56;
  const int64_t more = info.vectors(seven) - info.vectors(four);
  four.is_cached = false;
  seven.is_cached = false;
  EXPECT_EQ(more, info.cost(four) > cached_cost ? 3 : 0);
  EXPECT_EQ(info.vectors(seven), info.vectors(four));
  EXPECT_GE(info.vectors(four), 1);
}

/// Softmax regression on fixed samples, convex in its weights, with its gradient in closed form.
struct ConvexProblem {
  ConvexProblem() : rig(Model(torch::nn::Linear(6, 3))) {
    torch::manual_seed(11);
    images = torch::randn({64, 6});
    labels = images.matmul(torch::randn({6, 3})).argmax(1);
    labels.slice(0, 0, 64, 8).fill_(0);  // not separable
    rig.parameters.values().zero_();
  }
  /// || grad (F(w) + decay/2 ||w||^2) || by the formula (P - Y)^T [X, 1] / n, in double.
  double gradient_norm(double decay) const {
    const torch::Tensor x = at::cat({images, torch::ones({64, 1})}, 1).to(torch::kFloat64);
    const torch::Tensor w = at::cat({rig.parameters.view(rig.parameters.values(), 0),
                                     rig.parameters.view(rig.parameters.values(), 1).unsqueeze(1)},
                                    1)
                                .to(torch::kFloat64);
    const torch::Tensor p = at::softmax(x.matmul(w.t()), 1) - at::one_hot(labels, 3);
    return (p.t().matmul(x) / 64 + decay * w).norm().item<double>();
  }
  OuterBatch outer(int64_t size, int64_t inner, int64_t step) const {
    const int64_t begin = step * size % 64;
    return OuterBatch(images.narrow(0, begin, size), labels.narrow(0, begin, size), inner,
                      std::vector<uint64_t>(static_cast<size_t>(size / inner), 1));
  }
  Rig rig;
  torch::Tensor images;
  torch::Tensor labels;
};

TEST_P(MethodContract, ConvergesOnAConvexProblem) {
  ConvexProblem problem;
  const MethodInfo& info = find_method(GetParam(), "test");
  // adamw's decay is no part of a loss whose gradient could vanish.
  const double decay = info.update == "adamw" ? 0 : 0.1;
  const int64_t outer = info.is_full_batch ? 64 : 32;
  Method method = make_method(problem.rig, GetParam(), {outer, 16}, {.weight_decay = decay});
  const double start = problem.gradient_norm(decay);
  const int64_t outer_batches = 400;
  for (int64_t s = 0; s < outer_batches; ++s) {
    // Decaying, because only svrg reaches the optimum at a constant rate. Within bp-svrg's and psvrg's stable
    // range.
    const double learning_rate = 0.2 * (1 - static_cast<double>(s) / outer_batches);
    ASSERT_TRUE(method.run(problem.outer(outer, 16, s), 0, learning_rate).is_finite);
  }
  // sam minimises the loss within a radius of 0.05, whose minimum lies a little away.
  const double fraction = GetParam() == "sam" ? 0.1 : 0.01;
  EXPECT_LT(problem.gradient_norm(decay), fraction * start);
}

TEST_P(MethodContract, AddsWeightDecayOnceAtTheIterate) {
  // One step with decay differs from one without by -lr * decay * w (times 1 + momentum for Nesterov). Adam's
  // first step is by v / (|v| + epsilon), whatever the size of v.
  Rig plain(testing::small_mlp());
  Rig decayed(testing::small_mlp());
  const torch::Tensor w = plain.weights();
  const OuterBatch outer = random_outer_batch(8, 8);
  EXPECT_TRUE(make_method(plain, GetParam(), {8, 8}).run(outer, 0, 0.1).is_finite);
  EXPECT_TRUE(make_method(decayed, GetParam(), {8, 8}, {.weight_decay = 0.01}).run(outer, 0, 0.1).is_finite);
  const std::string& rule = find_method(GetParam(), "test").update;
  const double factor = rule == "nesterov" ? 1.9 : 1.0;
  torch::Tensor expected = plain.weights() - 0.1 * 0.01 * factor * w;
  if (rule == "adam") {
    Rig there(testing::small_mlp());
    const torch::Tensor v = (there.gradient(outer.inner(0)) + 0.01 * w).to(torch::kFloat64);
    expected = w - 0.1 * v / (v.abs() + 1e-8);
  }
  EXPECT_LT(largest_difference(decayed.weights(), expected), 1e-7);  // roundings of weights of order 0.1
}

TEST_P(MethodContract, ScalesItsFirstStepWithTheLearningRate) {
  Rig rig(testing::small_mlp());
  const torch::Tensor w = rig.weights();
  const OuterBatch outer = random_outer_batch(8, 8);
  EXPECT_TRUE(make_method(rig, GetParam(), {8, 8}).run(outer, 0, 0.1).is_finite);
  const torch::Tensor step = rig.weights() - w;
  rig.parameters.values().copy_(w);
  EXPECT_TRUE(make_method(rig, GetParam(), {8, 8}).run(outer, 0, 0.05).is_finite);
  EXPECT_LT(largest_difference(rig.weights() - w, 0.5 * step), 1e-7);
  EXPECT_GT(step.abs().max().item<double>(), 1e-4);
}

TEST_P(MethodContract, RunsWithEveryUpdateRuleToAnotherEnd) {
  std::vector<torch::Tensor> ends;
  for (const UpdateRuleInfo& info : update_rules()) {
    const std::string& rule = info.name;
    Rig rig(testing::small_cnn(0.5));
    const torch::Tensor before = rig.weights();
    // adam and adamw differ in what they do with weight decay.
    Method method = make_method(rig, GetParam(), {16, 8}, {.update_rule = rule, .weight_decay = 0.01});
    EXPECT_TRUE(method.run(random_outer_batch(16, 8), 0, 0.01).is_finite);
    EXPECT_FALSE(rig.weights().equal(before));
    for (const torch::Tensor& other : ends) EXPECT_FALSE(rig.weights().equal(other)) << rule;
    ends.push_back(rig.weights());
  }
}

TEST_P(MethodContract, StopsAtTheStepThatIsNotFinite) {
  Rig rig(testing::small_mlp());
  Method method = make_method(rig, GetParam(), {32, 8});
  // The first step goes nearly as far as float reaches; from there no gradient is finite, and of four steps
  // the second is the last.
  // (Adam divides the learning rate by 1 - beta1 before.)
  const bool is_adam = find_update_rule(find_method(GetParam(), "test").update, "test").has_moments;
  const auto outcome = method.run(random_outer_batch(32, 8), 0, is_adam ? 1e37 : 1e38);
  EXPECT_FALSE(outcome.is_finite);
  EXPECT_EQ(outcome.inner_steps, 2);
  EXPECT_FALSE(rig.weights().isfinite().all().item<bool>());
}

std::vector<std::string> all_methods() {
  std::vector<std::string> names;
  for (const auto& info : methods()) names.push_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, MethodContract, ::testing::ValuesIn(all_methods()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ModifiedSgd, MovesBatchNormAsOftenAsBpSvrgWithCachedGradients) {
  const auto batches_tracked = [](const std::string& name) {
    Rig rig(testing::small_cnn(0));
    EXPECT_TRUE(make_method(rig, name, {16, 8}).run(random_outer_batch(16, 8), 0, 0.01).is_finite);
    return rig.model.module->named_buffers()["bn1.num_batches_tracked"].item<int64_t>();
  };
  EXPECT_EQ(batches_tracked("sgd"), 2);
  EXPECT_EQ(batches_tracked("bp-svrg"), 3);
  EXPECT_EQ(batches_tracked("modified-sgd"), 4);
}

}  // namespace
}  // namespace batchplus
