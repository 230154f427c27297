// Every network computes the same by the project's own kernels as by libtorch's, and as near to what double
// precision gives (which libtorch always computes).

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "kernels/processor.h"
#include "networks/layers.h"
#include "networks/registry.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

/// Images of a batch, and their side.
struct Shape {
  int64_t count;
  int64_t side;
};
const std::vector<Shape> kPlain = {{1, 32}, {3, 32}, {8, 32}};
/// Not a batch of one: BatchNorm would have the 2x2 pixels of the last maps for its variance, which may be
/// next to nothing and then makes every rounding large.
const std::vector<Shape> kShrinking = {{3, 32}, {8, 32}};
/// Small images, for the sake of few values next to zero: see IsAsNearToDoublePrecisionAsLibtorch.
const std::vector<Shape> kDeep = {{1, 16}, {3, 16}, {8, 8}};

/// A row of the table, narrow enough to take a moment, and wide enough for Winograd's convolution, which
/// needs 8 input channels.
struct Case {
  std::string network;
  std::vector<Shape> shapes;
};
void PrintTo(const Case& row, std::ostream* out) {
  *out << row.network;
}
const std::vector<Case> kCases = {
    {"mlp:hidden=16", kPlain},
    {"smallcnn:width=8", kPlain},
    {"alexnet:width=8", kPlain},
    {"vgg11:width=8", kShrinking},
    {"vgg19:width=8", kShrinking},
    {"resnet20:width=4", kDeep},
    {"resnet32:width=4", kDeep},
    {"resnet44:width=4", kDeep},
    {"resnet56:width=4", kDeep},
    {"densenet:depth=10,growth=4", kDeep},
    // Blocks with fewer maps than a bottleneck has, and with as many.
    {"densenet-bc:depth=10,growth=4", kDeep},
    {"densenet-bc:depth=16,growth=4", kDeep},
};

TEST(Kernels, AreTestedWithEveryNetwork) {
  std::set<std::string> tested;
  for (const Case& row : kCases) tested.insert(row.network.substr(0, row.network.find(':')));
  for (const NetworkInfo& info : networks()) EXPECT_TRUE(tested.contains(info.name)) << info.name;
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

Outcome compute(const Case& row, Kernels kernels, const LabelledImages& batch,
                torch::Dtype type = torch::kFloat32) {
  const Model model = make_network(row.network, batch.images.size(3), kernels);
  model.module->to(type);
  Outcome outcome;
  const torch::Tensor loss = training_loss(model, batch, type);
  outcome.loss = loss.detach().to(torch::kFloat64);
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& gradient : torch::autograd::grad({loss}, model.module->parameters()))
    gradients.push_back(gradient.to(torch::kFloat64).reshape(-1));
  outcome.gradient = at::cat(gradients);
  for (const torch::Tensor& buffer : model.module->buffers()) {
    if (buffer.is_floating_point()) outcome.statistics.push_back(buffer.to(torch::kFloat64));
  }
  const torch::NoGradGuard no_grad;
  model.module->eval();
  outcome.logits = forward(model, batch, type).to(torch::kFloat64);
  return outcome;
}

/// ||a - b|| / ||b||.
double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

class EachNetworkByKernels : public ::testing::TestWithParam<Case> {};

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void expect_same_but_for_rounding(const Outcome& outcome, const Outcome& exact) {
  // Float32's 6e-8 over the sums of up to 56 layers; a wrong term would be a hundredth or more.
  constexpr double kRounding = 1e-5;
  EXPECT_LT(relative_error(outcome.loss, exact.loss), kRounding);
  EXPECT_LT(relative_error(outcome.logits, exact.logits), kRounding);
  ASSERT_EQ(outcome.statistics.size(), exact.statistics.size());
  for (size_t i = 0; i < exact.statistics.size(); ++i)
    EXPECT_LT(relative_error(outcome.statistics[i], exact.statistics[i]), kRounding) << i;
}

// Where a value next to zero falls on the other side of max(0, .), or another pixel wins a pool, a gradient
// that is just as right differs by up to a hundredth, with libtorch's kernels as with others. The median over
// a few batches passes over that.
TEST_P(EachNetworkByKernels, IsAsNearToDoublePrecisionAsLibtorch) {
  for (const Shape& shape : GetParam().shapes) {
    SCOPED_TRACE(shape.count);
    std::map<Kernels, std::vector<double>> errors;
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
      const LabelledImages batch = random_images(shape, seed);
      const Outcome exact = compute(GetParam(), Kernels::kAten, batch, torch::kFloat64);
      for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect, Kernels::kAten}) {
        const Outcome outcome = compute(GetParam(), kernels, batch);
        errors[kernels].push_back(relative_error(outcome.gradient, exact.gradient));
        if (kernels != Kernels::kAten) expect_same_but_for_rounding(outcome, exact);
      }
    }
    // Another order of the same sums rounds alike; Winograd's transforms multiply by up to 8 and cancel.
    // Below the floor all are as good as float32 can be.
    constexpr double kFloor = 1e-6;
    const double aten = median(errors[Kernels::kAten]);
    EXPECT_LE(median(errors[Kernels::kDirect]), std::max(kFloor, 1.5 * aten));
    EXPECT_LE(median(errors[Kernels::kFast]), std::max(kFloor, 5 * aten));
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
  if (!has_own_kernels()) GTEST_SKIP() << "not on this processor";
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

INSTANTIATE_TEST_SUITE_P(Networks, EachNetworkByKernels, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.network;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace batchplus
