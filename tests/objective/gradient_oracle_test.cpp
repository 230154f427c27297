#include "objective/gradient_oracle.h"

#include <gtest/gtest.h>

#include "kernels/processor.h"
#include "kernels/trace.h"
#include "layers/layer.h"
#include "networks/registry.h"
#include "objective/loss.h"
#include "support/machine.h"
#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::random_outer_batch;
using testing::Rig;

/// The batch's mean loss with every parameter in double.
double loss_in_double(const Batch& batch, const FlatParameters& parameters, const torch::Tensor& w) {
  // mlp: the flat vector holds fc1.weight, fc1.bias, fc2.weight, ...
  std::vector<torch::Tensor> p;
  for (size_t i = 0; i < parameters.slices().size(); ++i) p.push_back(parameters.view(w, i));
  torch::Tensor x = batch.images.to(torch::kFloat64).flatten(1);
  x = at::relu(at::addmm(p[1], x, p[0].t()));
  x = at::relu(at::addmm(p[3], x, p[2].t()));
  x = at::addmm(p[5], x, p[4].t());
  return mean_cross_entropy(x, {batch.labels}, Kernels::kAten).item<double>();
}

TEST(GradientOracle, EqualsCentralDifferencesInDouble) {
  Rig rig(testing::small_mlp());
  const Batch batch = random_outer_batch(8, 8).inner(0);
  const torch::Tensor gradient = rig.gradient(batch);
  const torch::Tensor w = rig.parameters.values().to(torch::kFloat64);
  constexpr double kStep = 1e-6;
  for (int64_t i = 0; i < rig.parameters.size(); i += 37) {
    const torch::Tensor up = w.clone();
    const torch::Tensor down = w.clone();
    up[i] += kStep;
    down[i] -= kStep;
    const double difference =
        (loss_in_double(batch, rig.parameters, up) - loss_in_double(batch, rig.parameters, down)) /
        (2 * kStep);
    // The difference quotient is good to 1e-9; the gradient is in float, of order 0.1.
    EXPECT_NEAR(gradient[i].item<double>(), difference, 1e-6) << i;
  }
}

TEST(GradientOracle, IsAMeanOverTheBatch) {
  Rig rig(testing::small_mlp());
  const OuterBatch halves = random_outer_batch(8, 4);
  const torch::Tensor both =
      rig.gradient(OuterBatch(at::cat({halves.inner(0).images, halves.inner(1).images}),
                              at::cat({halves.inner(0).labels, halves.inner(1).labels}), 8, {1})
                       .inner(0));
  const torch::Tensor mean = (rig.gradient(halves.inner(0)) + rig.gradient(halves.inner(1))) / 2;
  EXPECT_LT(largest_difference(both, mean), 1e-6);  // float sums of eight terms of order 0.1
}

TEST(GradientOracle, TrainsSmoothedLabelsAsLibtorchHasThemWithAllKernels) {
  constexpr double kSmoothing = 0.2;
  const Batch batch = random_outer_batch(8, 8).inner(0);
  for (const Kernels kernels : {Kernels::kFast, Kernels::kAten}) {
    Rig rig(testing::small_mlp());
    use_kernels(*rig.model.module, kernels);
    GradientOracle smoothing(rig.model, rig.parameters, rig.budget, {.label_smoothing = kSmoothing});
    const torch::Tensor gradient = smoothing.make_vector();
    smoothing.gradient(batch, gradient);
    const torch::Tensor loss = at::cross_entropy_loss(rig.model.forward(batch.images), batch.labels, {},
                                                      at::Reduction::Mean, -100, kSmoothing);
    const torch::Tensor expected = smoothing.make_vector();
    rig.parameters.gather(torch::autograd::grad({loss}, rig.parameters.tensors()), expected);
    EXPECT_LT(largest_difference(gradient, expected), 1e-7);  // some roundings of numbers of order 0.1
    EXPECT_NEAR(smoothing.take_mean_loss(), loss.item<double>(), 1e-6);
    EXPECT_GT(largest_difference(gradient, rig.gradient(batch)), 1e-3);
  }
}

TEST(GradientOracle, TrainsTheMixtureOfTwoLabelsWithAllKernels) {
  Batch batch = random_outer_batch(8, 8).inner(0);
  Batch other = batch;
  other.labels = batch.labels.flip(0);
  for (const Kernels kernels : {Kernels::kFast, Kernels::kAten}) {
    Rig rig(testing::small_mlp());
    use_kernels(*rig.model.module, kernels);
    const torch::Tensor expected = 0.3 * rig.gradient(batch) + 0.7 * rig.gradient(other);
    Batch mixed = batch;
    mixed.partner_labels = other.labels;
    mixed.label_share = 0.3;
    EXPECT_LT(largest_difference(rig.gradient(mixed), expected), 1e-7);  // roundings of numbers of order 0.1
  }
}

// --kernels aten: libtorch computes all of every network, and none of this project's kernels runs.
TEST(GradientOracle, RunsNoOwnKernelWithLibtorchs) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const NetworkInfo& info : networks()) {
    const auto calls = [&](Kernels kernels) {
      Rig rig(build_network(info, {}, /*seed=*/1));
      use_kernels(*rig.model.module, kernels);
      const torch::Tensor images = torch::rand({2, 3, 32, 32}).contiguous(rig.model.memory_format);
      const kernels::KernelTrace trace;
      rig.gradient({images, torch::tensor({1, 2})});
      std::vector<std::string> descriptions;
      for (const auto& [description, totals] : trace.totals()) descriptions.push_back(description);
      return descriptions;
    };
    EXPECT_EQ(calls(Kernels::kAten), std::vector<std::string>{}) << info.name;
    EXPECT_FALSE(calls(Kernels::kFast).empty()) << info.name;
  }
}

TEST(GradientOracle, CountsEverySampleOfEveryGradient) {
  Rig rig(testing::small_mlp());
  const OuterBatch outer = random_outer_batch(10, 4);
  rig.gradient(outer.inner(0));
  rig.gradient(outer.remainder());
  const torch::Tensor out = rig.oracle.make_vector();
  rig.oracle.replay_gradient_at(rig.weights(), outer.inner(1), out);
  rig.oracle.gradient_at(rig.weights(), outer.inner(1), out);
  EXPECT_EQ(rig.budget.sample_gradients(), 4 + 2 + 4 + 4);
  rig.oracle.move_statistics(outer.inner(0));
  EXPECT_EQ(rig.budget.sample_gradients(), 14);
  EXPECT_EQ(rig.budget.sample_forwards(), 4);
  EXPECT_EQ(rig.budget.gradient_evaluations(4), 3.5);
}

TEST(GradientOracle, MovesBatchNormOnceForEachFirstGradientAndNotForReplays) {
  Rig rig(testing::small_cnn(0));
  const Batch batch = random_outer_batch(8, 8).inner(0);
  const auto initial = rig.buffers();
  const torch::Tensor first = rig.gradient(batch);
  const auto moved = rig.buffers();
  EXPECT_FALSE(moved[0].equal(initial[0]));
  const torch::Tensor replayed = rig.oracle.make_vector();
  rig.oracle.replay_gradient_at(rig.weights(), batch, replayed);
  const auto after_replay = rig.buffers();
  for (size_t i = 0; i < moved.size(); ++i) EXPECT_TRUE(after_replay[i].equal(moved[i])) << i;
  EXPECT_TRUE(replayed.equal(first));
  rig.oracle.move_statistics(batch);
  EXPECT_FALSE(rig.buffers()[0].equal(moved[0]));
}

TEST(GradientOracle, MeetsTheSameDropoutMasksForTheSameBatch) {
  Rig rig(testing::small_cnn(0.5));
  const OuterBatch outer = random_outer_batch(8, 8);
  const Batch batch = outer.inner(0);
  const torch::Tensor once = rig.gradient(batch);
  torch::randn({17});  // whatever else is drawn in between
  EXPECT_TRUE(rig.gradient(batch).equal(once));
  Batch other = batch;
  other.replay_seed += 1;
  EXPECT_FALSE(rig.gradient(other).equal(once));
}

TEST(GradientOracle, LeavesTheWeightsWhereTheyWereAfterAGradientElsewhere) {
  Rig rig(testing::small_cnn(0.5));
  const Batch batch = random_outer_batch(8, 8).inner(0);
  const torch::Tensor w = rig.weights();
  const torch::Tensor elsewhere = w + 0.1;
  const torch::Tensor out = rig.oracle.make_vector();
  rig.oracle.gradient_at(elsewhere, batch, out);
  EXPECT_TRUE(rig.weights().equal(w));
  rig.parameters.values().copy_(elsewhere);
  EXPECT_TRUE(rig.gradient(batch).equal(out));
}

TEST(GradientOracle, ReportsTheMeanLossSinceTheLastCall) {
  Rig rig(testing::small_mlp());
  const OuterBatch outer = random_outer_batch(12, 8);
  rig.gradient(outer.inner(0));
  rig.gradient(outer.remainder());
  const auto loss = [&](const Batch& batch) {
    return mean_cross_entropy(rig.model.forward(batch.images), {batch.labels}, kernels_of(rig.model))
        .item<double>();
  };
  EXPECT_NEAR(rig.oracle.take_mean_loss(), (8 * loss(outer.inner(0)) + 4 * loss(outer.remainder())) / 12,
              1e-7);
  EXPECT_TRUE(std::isnan(rig.oracle.take_mean_loss()));
}

}  // namespace
}  // namespace batchplus
