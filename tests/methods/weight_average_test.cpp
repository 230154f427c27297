#include "methods/weight_average.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::make_method;
using testing::random_outer_batch;
using testing::Rig;

constexpr double kDecay = 0.8;

torch::Tensor buffer(const Rig& rig, const std::string& name) {
  return rig.model.module->named_buffers()[name];
}

TEST(WeightAverage, IsTheGeometricSumOverAllStepsInDouble) {
  Rig rig(testing::small_cnn(0));
  WeightAverage average(*rig.model.module, rig.parameters, kDecay);
  Method method = make_method(rig, "bp-svrg", {32, 8});
  std::vector<torch::Tensor> weights = {rig.weights().to(torch::kFloat64)};
  std::vector<torch::Tensor> means = {buffer(rig, "bn2.running_mean").to(torch::kFloat64)};
  method.set_after_step([&] {
    average.add();
    weights.push_back(rig.weights().to(torch::kFloat64));
    means.push_back(buffer(rig, "bn2.running_mean").to(torch::kFloat64));
  });
  for (const uint64_t seed : {1, 2, 3})
    EXPECT_TRUE(method.run(random_outer_batch(32, 8, seed), 0, 0.1).is_finite);
  ASSERT_EQ(weights.size(), 13U);

  const auto expected = [](const std::vector<torch::Tensor>& values) {
    const auto last = static_cast<double>(values.size() - 1);
    torch::Tensor sum = std::pow(kDecay, last) * values[0];
    for (size_t t = 1; t < values.size(); ++t)
      sum += (1 - kDecay) * std::pow(kDecay, last - static_cast<double>(t)) * values[t];
    return sum;
  };
  const torch::Tensor w = rig.weights();
  const torch::Tensor mean = buffer(rig, "bn2.running_mean").clone();
  const torch::Tensor batches = buffer(rig, "bn2.num_batches_tracked").clone();
  {
    const WeightAverage::InPlace averaged(average);
    // Three roundings a step of numbers of order 1, which the decay forgets.
    EXPECT_LT(largest_difference(rig.weights(), expected(weights)), 1e-6);
    EXPECT_LT(largest_difference(buffer(rig, "bn2.running_mean"), expected(means)), 1e-6);
    EXPECT_GT(largest_difference(rig.weights(), w), 1e-3);
    EXPECT_TRUE(buffer(rig, "bn2.num_batches_tracked").equal(batches)) << "a count has no mean";
  }
  EXPECT_TRUE(rig.weights().equal(w));
  EXPECT_TRUE(buffer(rig, "bn2.running_mean").equal(mean));
}

TEST(WeightAverage, DoesNotChangeTheTraining) {
  const auto end = [](bool has_average) {
    Rig rig(testing::small_cnn(0.5));
    WeightAverage average(*rig.model.module, rig.parameters, kDecay);
    Method method = make_method(rig, "nag", {32, 8});
    if (has_average) method.set_after_step([&] { average.add(); });
    EXPECT_TRUE(method.run(random_outer_batch(32, 8), 0, 0.1).is_finite);
    { const WeightAverage::InPlace averaged(average); }
    EXPECT_TRUE(method.run(random_outer_batch(32, 8, 2), 0, 0.1).is_finite);
    return rig.weights();
  };
  EXPECT_TRUE(end(true).equal(end(false)));
}

}  // namespace
}  // namespace batchplus
