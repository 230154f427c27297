#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "methods/method.h"
#include "methods/registry.h"
#include "networks/mlp.h"
#include "networks/small_cnn.h"
#include "objective/gradient_oracle.h"

namespace batchplus::testing {

/// A network with the oracle around it, small enough to run in a moment.
struct Rig {
  explicit Rig(Model network)
      : model(std::move(network)), parameters(*model.module), oracle(model, parameters, budget) {}
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  torch::Tensor weights() const { return parameters.values().clone(); }
  torch::Tensor gradient(const Batch& batch) {
    const torch::Tensor out = oracle.make_vector();
    oracle.gradient(batch, out);
    return out;
  }
  std::vector<torch::Tensor> buffers() const {
    std::vector<torch::Tensor> copies;
    for (const auto& buffer : model.module->buffers()) copies.push_back(buffer.clone());
    return copies;
  }

  Model model;
  FlatParameters parameters;
  GradientBudget budget;
  GradientOracle oracle;
};

inline Model small_mlp() {
  torch::manual_seed(1);
  return Model(std::make_shared<Mlp>(Mlp::Options{.inputs = 3 * 8 * 8, .hidden = 16, .classes = 10}));
}

inline Model small_cnn(double dropout) {
  torch::manual_seed(1);
  return Model(std::make_shared<SmallCnn>(SmallCnn::Options{
      .channels = 3, .side = 8, .classes = 10, .width = 4, .hidden = 16, .dropout = dropout}));
}

/// `samples` random 3x8x8 images with labels, cut into inner batches of `inner`.
inline OuterBatch random_outer_batch(int64_t samples, int64_t inner, uint64_t seed = 1) {
  torch::manual_seed(seed);
  std::vector<uint64_t> replay_seeds;
  for (int64_t begin = 0; begin < samples; begin += inner) replay_seeds.push_back(seed * 1000 + begin);
  return OuterBatch(torch::randn({samples, 3, 8, 8}), torch::randint(0, 10, {samples}), inner, replay_seeds);
}

/// Gradients of single samples, in double: a loop, as independent of sample gradient norms as can be.
struct SampleGradients {
  SampleGradients(Rig& rig, const OuterBatch& samples)
      : mean(torch::zeros({rig.parameters.size()}, torch::kFloat64)) {
    const auto n = static_cast<double>(samples.size());
    for (int64_t i = 0; i < samples.size(); ++i) {
      each.push_back(rig.gradient(samples.inner(i)).to(torch::kFloat64));
      mean += each.back() / n;
      mean_square += each.back().square().sum().item<double>() / n;
    }
  }
  double squared_mean() const { return mean.square().sum().item<double>(); }

  std::vector<torch::Tensor> each;
  torch::Tensor mean;
  double mean_square = 0;
};

struct MethodSettings {
  std::string coefficient = "";
  std::string update_rule = "";
  SnapshotGradients snapshot = SnapshotGradients::kCache;
  double weight_decay = 0;
  double momentum = 0.9;
};

/// A method of the table, with its defaults unless the settings say otherwise.
inline Method make_method(Rig& rig, const std::string& name, Method::Sizes sizes,
                          const MethodSettings& settings = {}) {
  MethodPlan plan = default_plan(find_method(name, "test"), sizes);
  if (!settings.coefficient.empty())
    plan.estimator.coefficient = CoefficientSchedule::parse(settings.coefficient, "test");
  plan.estimator.snapshot.gradients = settings.snapshot;
  if (!settings.update_rule.empty()) plan.update.rule = settings.update_rule;
  plan.update.momentum = settings.momentum;
  plan.update.weight_decay = settings.weight_decay;
  return build_method(plan, rig.oracle);
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

}  // namespace batchplus::testing
