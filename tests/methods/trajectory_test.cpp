// Trajectories equal an independent PyTorch implementation, tests/fixtures/make_trajectories.py, with the
// project's own kernels and with libtorch's.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "networks/layers.h"
#include "networks/weight_file.h"
#include "support/fixture.h"
#include "support/rig.h"

namespace batchplus {
namespace {

using testing::largest_difference;
using testing::make_method;
using testing::Rig;

// As in the script.
constexpr int64_t kInner = 8;
constexpr int64_t kOuterSteps = 20;
constexpr double kLearningRate = 0.05;
constexpr double kWeightDecay = 1e-3;

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

struct Case {
  std::string network;
  std::string name;
  std::string method;
  int64_t outer;
  Kernels kernels;
};

class Trajectory : public ::testing::TestWithParam<Case> {};

TEST_P(Trajectory, EqualsPyTorchAfterTwentyOuterSteps) {
  const Fixture fixture(GetParam().network);
  const torch::Tensor images = fixture.tensors.at("images");
  const torch::Tensor labels = fixture.tensors.at("labels");
  const int64_t samples = images.size(0);
  const int64_t outer = find_method(GetParam().method, "test").is_full_batch ? samples : GetParam().outer;

  // That recomputing changes no bit does not depend on the kernels (identities_test.cpp): once is enough.
  std::vector<SnapshotGradients> snapshots = {SnapshotGradients::kCache};
  if (GetParam().kernels != Kernels::kAten) snapshots.push_back(SnapshotGradients::kRecompute);
  for (const auto snapshot : snapshots) {
    Rig rig(GetParam().network == "mlp" ? testing::small_mlp() : testing::small_cnn(0));
    use_kernels(*rig.model.module, GetParam().kernels);
    load_state_dict(*rig.model.module, fixture.under("init"), "fixture");
    Method method = make_method(rig, GetParam().method, {outer, kInner},
                                {.snapshot = snapshot, .weight_decay = kWeightDecay});
    const int64_t in_a_pass = samples / outer + (samples % outer >= kInner ? 1 : 0);
    for (int64_t s = 0; s < kOuterSteps; ++s) {
      const int64_t begin = s % in_a_pass * outer;
      const int64_t size = std::min(outer, samples - begin);
      const OuterBatch batch(images.narrow(0, begin, size), labels.narrow(0, begin, size), kInner,
                             std::vector<uint64_t>(static_cast<size_t>((size + kInner - 1) / kInner), 0));
      ASSERT_TRUE(method.run(batch, static_cast<double>(s) / kOuterSteps, kLearningRate).is_finite);
    }

    // The expected end is that of float64 arithmetic. A float32 run cannot be expected nearer to it than
    // PyTorch's own float32 run is; another order of summation may be a few times as far. Steps moved weights
    // by 0.1 to 1, five orders of magnitude more.
    const double tolerance = 4 * fixture.tensors.at(GetParam().name + "/float32_deviation").item<double>();
    ASSERT_LT(tolerance, 1e-5);
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
  for (const char* network : {"mlp", "smallcnn"}) {
    for (const Kernels kernels : {Kernels::kFast, Kernels::kAten}) {
      for (const auto& info : methods()) cases.push_back({network, info.name, info.name, 16, kernels});
      cases.push_back({network, "bp-svrg, B = 20", "bp-svrg", 20, kernels});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Trajectory, ::testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.network + "_" + info.param.method + "_B" + std::to_string(info.param.outer) +
                     (info.param.kernels == Kernels::kAten ? "_aten" : "_own");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace batchplus
