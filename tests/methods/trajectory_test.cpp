// Trajectories equal an independent PyTorch implementation, tests/fixtures/make_trajectories.py, with the
// project's own kernels and with libtorch's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "kernels/processor.h"
#include "kernels/trace.h"
#include "layers/layer.h"
#include "methods/weight_average.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "support/fixture.h"
#include "support/rig.h"
#include "support/rounding.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::make_method;
using testing::Rig;

// As in the script.
constexpr int64_t kInner = 8;
constexpr double kLearningRate = 0.05;
constexpr double kAdamLearningRate = 0.005;
constexpr double kWeightDecay = 1e-3;
constexpr double kAverage = 0.9;

struct Fixture {
  explicit Fixture(const std::string& network) {
    for (const auto& [name, tensor] : read_weights(testing::fixture("trajectories_" + network + ".pt")))
      tensors[name] = tensor;
  }
  StateDict under(const std::string& prefix) const {
    StateDict state;
    for (const auto& [name, tensor] : tensors) {
      if (name.starts_with(prefix + "/")) state.emplace_back(name.substr(prefix.size() + 1), tensor);
    }
    return state;
  }
  std::map<std::string, torch::Tensor> tensors;
};

/// A case of the script, and the kernels to run it with.
struct Case {
  std::string network;
  std::string name;
  std::string method;
  int64_t outer;
  std::string update_rule;
  Kernels kernels;
};

/// Adam's steps have the length of the learning rate, whatever the gradient.
double learning_rate(const Case& row) {
  const bool is_adam = row.name.find("adam") != std::string::npos;
  return is_adam ? kAdamLearningRate : kLearningRate;
}

Model make_network(const std::string& name) {
  if (name == "mlp") return testing::small_mlp();
  if (name == "smallcnn") return testing::small_cnn(0);
  return build_network(find_network("resnet20:depth=8,width=8"), {.side = 4}, /*seed=*/1);
}

bool has_winograd(const Case& row) {
  return row.network == "resnet" && row.kernels == Kernels::kFast;
}

/// How many times as far from double precision as PyTorch's own float32 run a run may end. Another order of
/// summation may be a few times as far; Winograd's transforms magnify roundings by 5.14
/// (convolution_test.cpp).
double allowance(const Case& row) {
  return 4 * (has_winograd(row) ? testing::kWinogradMagnification : 1);
}

bool ran_winograd(const kernels::KernelTrace& trace) {
  return std::any_of(trace.totals().begin(), trace.totals().end(),
                     [](const auto& kernel) { return kernel.first.find("F(") != std::string::npos; });
}

class Trajectory : public ::testing::TestWithParam<Case> {};

TEST_P(Trajectory, EqualsPyTorchs) {
  const Fixture fixture(GetParam().network);
  const torch::Tensor images = fixture.tensors.at("images");
  const torch::Tensor labels = fixture.tensors.at("labels");
  const auto outer_steps = fixture.tensors.at("outer_steps").item<int64_t>();
  const int64_t samples = images.size(0);
  const int64_t outer = find_method(GetParam().method, "test").is_full_batch ? samples : GetParam().outer;

  // That recomputing changes no bit does not depend on the kernels (identities_test.cpp): once is enough.
  std::vector<SnapshotGradients> snapshots = {SnapshotGradients::kCache};
  if (GetParam().kernels != Kernels::kAten) snapshots.push_back(SnapshotGradients::kRecompute);
  for (const auto snapshot : snapshots) {
    Rig rig(make_network(GetParam().network));
    use_kernels(*rig.model.module, GetParam().kernels);
    load_state_dict(*rig.model.module, fixture.under("init"), "fixture");
    Method method = make_method(
        rig, GetParam().method, {outer, kInner},
        {.update_rule = GetParam().update_rule, .snapshot = snapshot, .weight_decay = kWeightDecay});
    WeightAverage average(*rig.model.module, rig.parameters, kAverage);
    method.set_after_step([&] { average.add(); });
    const int64_t in_a_pass = samples / outer + (samples % outer >= kInner ? 1 : 0);
    const kernels::KernelTrace trace;
    for (int64_t s = 0; s < outer_steps; ++s) {
      const int64_t begin = s % in_a_pass * outer;
      const int64_t size = std::min(outer, samples - begin);
      const OuterBatch batch(images.narrow(0, begin, size), labels.narrow(0, begin, size), kInner,
                             std::vector<uint64_t>(static_cast<size_t>((size + kInner - 1) / kInner), 0));
      ASSERT_TRUE(method
                      .run(batch, static_cast<double>(s) / static_cast<double>(outer_steps),
                           learning_rate(GetParam()))
                      .is_finite);
    }
    EXPECT_EQ(ran_winograd(trace), has_winograd(GetParam()) && kernels::are_available());

    // The expected end is that of float64 arithmetic. A float32 run cannot be expected nearer to it than
    // PyTorch's own float32 run is. Steps moved weights by 0.1 to 2, five orders of magnitude more.
    const double tolerance =
        allowance(GetParam()) * fixture.tensors.at(GetParam().name + "/float32_deviation").item<double>();
    ASSERT_LT(tolerance, 2e-5);
    std::optional<WeightAverage::InPlace> averaged;
    if (GetParam().name.find("averaged") != std::string::npos) averaged.emplace(average);
    std::map<std::string, torch::Tensor> reached;
    for (const auto& [name, tensor] : state_dict(*rig.model.module)) reached[name] = tensor;
    int64_t compared = 0;
    for (const auto& [name, expected] : fixture.under(GetParam().name)) {
      if (name == "float32_deviation") continue;
      ASSERT_TRUE(reached.contains(name)) << name;
      EXPECT_LT(largest_difference(reached.at(name), expected), tolerance) << name;
      ++compared;
    }
    EXPECT_EQ(compared, static_cast<int64_t>(reached.size()));
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect, Kernels::kAten}) {
    for (const char* network : {"mlp", "smallcnn"}) {
      for (const auto& info : methods()) cases.push_back({network, info.name, info.name, 16, "", kernels});
      cases.push_back({network, "bp-svrg, B = 20", "bp-svrg", 20, "", kernels});
      cases.push_back({network, "modified-sgd, nesterov", "modified-sgd", 16, "nesterov", kernels});
      cases.push_back({network, "bp-svrg, adamw", "bp-svrg", 16, "adamw", kernels});
      cases.push_back({network, "bp-svrg, averaged", "bp-svrg", 16, "", kernels});
    }
    for (const char* method : {"nag", "b-svrg", "bp-svrg", "sam"})
      cases.push_back({"resnet", method, method, 16, "", kernels});
  }
  return cases;
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  static const std::map<Kernels, std::string> words = {
      {Kernels::kFast, "fast"}, {Kernels::kDirect, "direct"}, {Kernels::kAten, "aten"}};
  std::string name = info.param.network + "_" + info.param.name + "_" + words.at(info.param.kernels);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Trajectory, ::testing::ValuesIn(all_cases()), test_name);

}  // namespace
}  // namespace batchplus
