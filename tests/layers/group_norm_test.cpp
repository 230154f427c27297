#include "layers/group_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

namespace batchplus {
namespace {

/// With weights that are not all one.
std::shared_ptr<GroupNorm> make_layer(int64_t channels, torch::Dtype type) {
  torch::manual_seed(1);
  auto layer = std::make_shared<GroupNorm>(channels);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor parameter : layer->parameters()) parameter += torch::randn_like(parameter);
  layer->to(type);
  return layer;
}

torch::Tensor random_maps(at::IntArrayRef shape, torch::MemoryFormat format) {
  torch::manual_seed(2);
  return (3 + 2 * torch::randn(shape, torch::kFloat64)).contiguous(format).set_requires_grad(true);
}

/// The definition, one group of one sample after the other.
torch::Tensor slow(const GroupNorm& layer, const torch::Tensor& x) {
  const int64_t size = x.size(1) / layer.groups();
  std::vector<torch::Tensor> samples;
  for (int64_t n = 0; n < x.size(0); ++n) {
    std::vector<torch::Tensor> groups;
    for (int64_t c = 0; c < x.size(1); c += size) {
      const torch::Tensor group = x[n].slice(0, c, c + size);
      const torch::Tensor deviation = (group.var(/*unbiased=*/false) + 1e-5).sqrt();
      groups.push_back((group - group.mean()) / deviation);
    }
    const auto by_channels = [](const torch::Tensor& t) { return t.view({-1, 1, 1}); };
    samples.push_back(at::cat(groups) * by_channels(layer.weight()) + by_channels(layer.bias()));
  }
  return at::stack(samples);
}

constexpr auto kPlanar = torch::MemoryFormat::Contiguous;
constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

TEST(GroupNorm, ComputesItsDefinitionAndItsGradientsInDouble) {
  for (const auto format : {kPlanar, kChannelsLast}) {
    for (const int64_t channels : {2, 12, 24, 64}) {
      const auto layer = make_layer(channels, torch::kFloat64);
      const torch::Tensor x = random_maps({3, channels, 5, 4}, format);
      const torch::Tensor direction = torch::randn(x.sizes(), torch::kFloat64);
      const auto gradients = [&](const torch::Tensor& y) {
        return torch::autograd::grad({(y * direction).sum()}, {x, layer->weight(), layer->bias()});
      };
      const torch::Tensor y = layer->forward(x);
      const torch::Tensor exact = slow(*layer, x);
      EXPECT_LT((y - exact).abs().max().item<double>(), 1e-12) << channels;
      const auto ours = gradients(y);
      const auto theirs = gradients(exact);
      for (size_t i = 0; i < ours.size(); ++i) {
        EXPECT_LT((ours[i] - theirs[i]).abs().max().item<double>(), 1e-11) << channels << ", " << i;
      }
    }
  }
}

TEST(GroupNorm, IsTheSameWithReluAndSumBehindIt) {
  const auto layer = make_layer(12, torch::kFloat32);
  for (const auto format : {kPlanar, kChannelsLast}) {
    const torch::Tensor x = random_maps({3, 12, 5, 4}, format).detach().to(torch::kFloat32);
    const torch::Tensor shortcut = torch::randn_like(x);
    const torch::Tensor y = layer->forward(x);
    EXPECT_TRUE(layer->relu(x).equal(at::relu(y)));
    EXPECT_TRUE(layer->add_relu(x, shortcut).equal(at::relu(y + shortcut)));
  }
}

TEST(GroupNorm, IsTheSameInTrainingAndEvaluationAndForASampleAlone) {
  const auto layer = make_layer(12, torch::kFloat64);
  const torch::Tensor x = random_maps({3, 12, 5, 4}, kPlanar).detach();
  const torch::Tensor y = layer->forward(x);
  layer->eval();
  EXPECT_TRUE(layer->forward(x).equal(y));
  EXPECT_LT((layer->forward(x.slice(0, 1, 2))[0] - y[1]).abs().max().item<double>(), 1e-13);
}

// The largest divisor that is at most 32 and leaves 4 channels to a group.
TEST(GroupNorm, ChoosesItsGroups) {
  EXPECT_EQ(GroupNorm::groups_for(2), 1);
  EXPECT_EQ(GroupNorm::groups_for(4), 1);
  EXPECT_EQ(GroupNorm::groups_for(12), 3);
  EXPECT_EQ(GroupNorm::groups_for(16), 4);
  EXPECT_EQ(GroupNorm::groups_for(36), 9);
  EXPECT_EQ(GroupNorm::groups_for(37), 1);
  EXPECT_EQ(GroupNorm::groups_for(64), 16);
  EXPECT_EQ(GroupNorm::groups_for(128), 32);
  EXPECT_EQ(GroupNorm::groups_for(342), 19);
  EXPECT_EQ(GroupNorm::groups_for(512), 32);
}

TEST(GroupNorm, HasPyTorchsNamesAndNoMacs) {
  const GroupNorm layer(12);
  EXPECT_EQ(layer.named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_TRUE(layer.buffers().empty());
  EXPECT_EQ(layer.macs(torch::zeros({1, 12, 5, 4})), 0);
  EXPECT_EQ(layer.describe(), "group norm");
}

}  // namespace
}  // namespace batchplus
