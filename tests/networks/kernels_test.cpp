// Every network computes by the project's own kernels what libtorch computes in double precision, as near to
// it as float32 allows.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "kernels/processor.h"
#include "layers/layer.h"
#include "networks/registry.h"
#include "support/expect_error.h"
#include "support/machine.h"
#include "support/rounding.h"
#include "support/small_networks.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::kRounding;
using testing::kWinogradMagnification;
using testing::running_sum_rounding;

/// Images of a batch, and their side.
struct Shape {
  int64_t count;
  int64_t side;
};
const std::vector<Shape> kPlain = {{1, 32}, {3, 32}, {8, 32}};
/// Not a batch of one: BatchNorm would have the 2x2 pixels of the last maps for its variance, which may be
/// next to nothing and then makes every rounding large.
const std::vector<Shape> kShrinking = {{3, 32}, {8, 32}};
/// Small images, for the sake of few values next to zero: see IsAsNearToDoublePrecisionAsRoundingAllows.
const std::vector<Shape> kDeep = {{1, 16}, {3, 16}, {8, 8}};

/// A network of the table and the batches it is tried on.
struct Case {
  std::string network;
  std::vector<Shape> shapes;
  std::vector<uint64_t> seeds = {1, 2, 3, 4, 5};
};
void PrintTo(const Case& row, std::ostream* out) {
  *out << row.network;
}

std::vector<Shape> shapes_for(const NetworkInfo& info) {
  if (info.least_side == 1) return kPlain;
  if (info.least_side < 32) return kDeep;
  return info.has_normalization ? kShrinking : kPlain;
}

/// Each network first small enough to take a moment, and wide enough for Winograd's convolution, which needs
/// 8 input channels; then as it is used.
std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      {"mlp:hidden=16", kPlain},
      {"densenet:depth=10,growth=4", kDeep},
      // Blocks with fewer maps than a bottleneck has; those with as many are among the small ones.
      {"densenet-bc:depth=10,growth=4", kDeep},
  };
  for (const NetworkInfo& info : networks()) {
    const std::string small = testing::small_name(info);
    cases.push_back({small, shapes_for(info)});
    if (small == info.name || testing::is_large(info)) continue;
    const int64_t side = shapes_for(info).back().side;
    cases.push_back({info.name, {{3, side}}, {1, 2, 3}});
  }
  return cases;
}

struct LabelledImages {
  torch::Tensor images;
  torch::Tensor labels;
};

LabelledImages random_images(const Shape& shape, uint64_t seed = 1) {
  torch::manual_seed(seed);
  return {torch::randn({shape.count, 3, shape.side, shape.side}), torch::randint(0, 10, {shape.count})};
}

/// The same weights whatever the kernels. BatchNorm's begin as ones and zeros, which would hide much.
Model make_network(const std::string& name, int64_t side, Kernels kernels) {
  const Model model = build_network(find_network(name), {.side = side, .dropout = 0}, /*seed=*/1);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.module->parameters()) {
    if (parameter.dim() == 1) parameter += 0.1 * torch::randn_like(parameter);
  }
  use_kernels(*model.module, kernels);
  return model;
}

torch::Tensor forward(const Model& model, const LabelledImages& batch, torch::Dtype type) {
  return model.forward(batch.images.to(type).contiguous(model.memory_format));
}

torch::Tensor training_loss(const Model& model, const LabelledImages& batch, torch::Dtype type) {
  model.module->train();
  return at::cross_entropy_loss(forward(model, batch, type), batch.labels);
}

/// What a training step gives, and evaluation after it; in float64.
struct Outcome {
  torch::Tensor loss;
  /// [d]
  torch::Tensor gradient;
  /// All running means and variances.
  std::vector<torch::Tensor> statistics;
  /// Of evaluation mode: [N,classes]
  torch::Tensor logits;
};

/// What a training step of the network computes, in its own precision.
Outcome outcome_of(const Model& model, const LabelledImages& batch) {
  const torch::Dtype type = model.module->parameters().front().scalar_type();
  Outcome outcome;
  const torch::Tensor loss = training_loss(model, batch, type);
  outcome.loss = loss.detach().to(torch::kFloat64);
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& gradient : torch::autograd::grad({loss}, model.module->parameters()))
    gradients.push_back(gradient.to(torch::kFloat64).reshape(-1));
  outcome.gradient = at::cat(gradients);
  for (const torch::Tensor& buffer : model.module->buffers()) {
    const bool is_count = buffer.dim() == 0;
    if (!is_count) outcome.statistics.push_back(buffer.to(torch::kFloat64));
  }
  const torch::NoGradGuard no_grad;
  model.module->eval();
  outcome.logits = forward(model, batch, type).to(torch::kFloat64);
  return outcome;
}

Outcome compute(const Case& row, Kernels kernels, const LabelledImages& batch) {
  return outcome_of(make_network(row.network, batch.images.size(3), kernels), batch);
}

/// In double precision, where each parameter is off by `rounding` times itself times a random number.
Outcome compute_in_double(const Case& row, const LabelledImages& batch, double rounding = 0) {
  const Model model = make_network(row.network, batch.images.size(3), Kernels::kAten);
  model.module->to(torch::kFloat64);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.module->parameters())
    parameter *= 1 + rounding * torch::randn_like(parameter);
  const at::AutoGradMode grad(true);
  return outcome_of(model, batch);
}

/// ||a - b|| / ||b||.
double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

class EachNetworkByKernels : public ::testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() {
    if (largest_roundings.empty()) return;
    fmt::print(
        "note: gradients are off by at most {:.1f} roundings of each parameter with direct, {:.1f} with "
        "fast\n",
        largest_roundings[Kernels::kDirect], largest_roundings[Kernels::kFast]);
  }
  /// Over the networks: the error of a gradient over that of parameters that are off by one rounding each.
  static inline std::map<Kernels, double> largest_roundings;
};

const char* name_of(Kernels kernels) {
  return kernels == Kernels::kFast ? "fast" : "direct";
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void expect_same_but_for_rounding(const Outcome& outcome, const Outcome& exact) {
  // Float32's 6e-8 over the sums of up to 56 layers; a wrong term would be a hundredth or more.
  constexpr double kTolerance = 1e-5;
  EXPECT_LT(relative_error(outcome.loss, exact.loss), kTolerance);
  EXPECT_LT(relative_error(outcome.logits, exact.logits), kTolerance);
  ASSERT_EQ(outcome.statistics.size(), exact.statistics.size());
  for (size_t i = 0; i < exact.statistics.size(); ++i)
    EXPECT_LT(relative_error(outcome.statistics[i], exact.statistics[i]), kTolerance) << i;
}

// How far rounding moves a gradient depends on the network. Double precision tells: parameters that are off
// by one rounding each stand for layers that round each of their results once. Sums of products round more
// often than once, and Winograd's transforms magnify that (convolution_test.cpp). Where a value next to zero
// falls on the other side of max(0, .), or another pixel wins a pool, a gradient that is just as right
// differs by up to a hundredth. The median over a few batches passes over that.
TEST_P(EachNetworkByKernels, IsAsNearToDoublePrecisionAsRoundingAllows) {
  for (const Shape& shape : GetParam().shapes) {
    SCOPED_TRACE(shape.count);
    std::map<Kernels, std::vector<double>> errors;
    std::vector<double> sensitivities;
    for (const uint64_t seed : GetParam().seeds) {
      const LabelledImages batch = random_images(shape, seed);
      const Outcome exact = compute_in_double(GetParam(), batch);
      sensitivities.push_back(
          relative_error(compute_in_double(GetParam(), batch, kRounding).gradient, exact.gradient));
      for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect}) {
        const Outcome outcome = compute(GetParam(), kernels, batch);
        errors[kernels].push_back(relative_error(outcome.gradient, exact.gradient));
        expect_same_but_for_rounding(outcome, exact);
      }
    }
    const double sensitivity = median(sensitivities);
    // A layer and its BatchNorm sum up to 64 terms at a time.
    const double allowance = std::sqrt(2) * running_sum_rounding(64) / kRounding;
    for (const auto& [kernels, of_batches] : errors) {
      const double roundings = median(of_batches) / sensitivity;
      EXPECT_LE(roundings, kernels == Kernels::kFast ? kWinogradMagnification * allowance : allowance)
          << name_of(kernels);
      largest_roundings[kernels] = std::max(largest_roundings[kernels], roundings);
    }
  }
}

// So many values are next to zero here that some may fall on the other side of max(0, .). Each such value
// changes a gradient by up to a hundredth; a wrong layer would change it by more than a tenth.
TEST(Kernels, ComputeTheGradientsOfLargeNetworks) {
  for (const NetworkInfo& info : networks()) {
    if (!testing::is_large(info)) continue;
    SCOPED_TRACE(info.name);
    const Case row{info.name, {}};
    const LabelledImages batch = random_images({2, shapes_for(info).back().side});
    const Outcome exact = compute_in_double(row, batch);
    for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect}) {
      const Outcome outcome = compute(row, kernels, batch);
      expect_same_but_for_rounding(outcome, exact);
      const double error = relative_error(outcome.gradient, exact.gradient);
      EXPECT_LT(error, 0.1);
      fmt::print("note: {}'s gradient at full width is off by {:.1e} of itself with {}\n", info.name, error,
                 name_of(kernels));
    }
  }
}

TEST_P(EachNetworkByKernels, RepeatsItsBits) {
  const LabelledImages batch = random_images(GetParam().shapes.back());
  for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect}) {
    const Outcome first = compute(GetParam(), kernels, batch);
    const Outcome second = compute(GetParam(), kernels, batch);
    EXPECT_TRUE(second.loss.equal(first.loss));
    EXPECT_TRUE(second.gradient.equal(first.gradient));
    EXPECT_TRUE(second.logits.equal(first.logits));
    for (size_t i = 0; i < first.statistics.size(); ++i)
      EXPECT_TRUE(second.statistics[i].equal(first.statistics[i])) << i;
  }
}

TEST_P(EachNetworkByKernels, HasSecondDerivativesByLibtorchAloneAndSaysSo) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  const LabelledImages batch = random_images(GetParam().shapes.back());
  const Model model = make_network(GetParam().network, batch.images.size(3), Kernels::kFast);
  const auto differentiate = [&] {
    return torch::autograd::grad({training_loss(model, batch, torch::kFloat32)}, model.module->parameters(),
                                 {}, /*retain_graph=*/true, /*create_graph=*/true);
  };
  for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect}) {
    use_kernels(*model.module, kernels);
    expect_error(differentiate, {"first derivatives only", "use_kernels"});
  }
  use_kernels(*model.module, Kernels::kAten);
  EXPECT_TRUE(differentiate().front().requires_grad());
}

INSTANTIATE_TEST_SUITE_P(Networks, EachNetworkByKernels, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) {
                           std::string name = info.param.network;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace batchplus
