#include "core/flat_parameters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace batchplus {
namespace {

torch::nn::Sequential make_network() {
  return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 5, 3)),
                               torch::nn::BatchNorm2d(5), torch::nn::Linear(6, 4));
}

TEST(FlatParameters, KeepsValuesAndNames) {
  auto network = make_network();
  std::vector<torch::Tensor> before;
  for (const auto& parameter : network->parameters()) before.push_back(parameter.detach().clone());
  const FlatParameters flat(*network);
  ASSERT_EQ(flat.slices().size(), before.size());
  int64_t size = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(flat.slices()[i].parameter.equal(before[i])) << flat.slices()[i].name;
    size += before[i].numel();
  }
  EXPECT_EQ(flat.size(), size);
  EXPECT_EQ(flat.slices().front().name, "0.weight");
}

TEST(FlatParameters, WritingTheVectorMovesTheNetwork) {
  auto network = make_network();
  const FlatParameters flat(*network);
  flat.values().fill_(0.5);
  for (const auto& parameter : network->parameters()) EXPECT_TRUE(parameter.eq(0.5).all().item<bool>());
}

TEST(FlatParameters, KeepsChannelsLastStrides) {
  auto network = make_network();
  network->parameters()[0].set_data(
      network->parameters()[0].detach().contiguous(at::MemoryFormat::ChannelsLast));
  const torch::Tensor before = network->parameters()[0].detach().clone();
  const FlatParameters flat(*network);
  EXPECT_TRUE(network->parameters()[0].is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(network->parameters()[0].equal(before));
}

TEST(FlatParameters, GathersGradientsWhateverTheirStrides) {
  auto network = make_network();
  const FlatParameters flat(*network);
  std::vector<torch::Tensor> gradients;
  for (const auto& tensor : flat.tensors()) gradients.push_back(torch::randn(tensor.sizes()));
  gradients[0] = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
  gradients[1] = torch::Tensor();
  const torch::Tensor gathered = torch::full({flat.size()}, 7.0);
  flat.gather(gradients, gathered);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const torch::Tensor expected = i == 1 ? torch::zeros_like(flat.tensors()[i]) : gradients[i];
    EXPECT_TRUE(flat.view(gathered, i).equal(expected)) << i;
  }
}

TEST(FlatParameters, TakesASharedParameterOnceAndLeavesFrozenOnesOut) {
  torch::nn::Sequential network;
  torch::nn::Linear shared(3, 3);
  torch::nn::Linear frozen(3, 3);
  for (auto& parameter : frozen->parameters()) parameter.set_requires_grad(false);
  network->push_back(shared);
  network->push_back(frozen);
  network->push_back(shared);
  EXPECT_EQ(FlatParameters(*network).size(), 12);
}

TEST(BufferSnapshot, PutsRunningStatisticsBack) {
  auto network = make_network();
  torch::nn::BatchNorm2d norm(4);
  const auto before = norm->running_mean.clone();
  const BufferSnapshot snapshot(*norm);
  norm->forward(torch::randn({8, 4, 2, 2}));
  EXPECT_FALSE(norm->running_mean.equal(before));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  snapshot.restore();
  EXPECT_TRUE(norm->running_mean.equal(before));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
}

TEST(GradientTarget, TellsOfAGradientWhenAnotherIsAskedFor) {
  torch::nn::Linear layer(3, 2);  // 6 weights, then 2 biases
  const FlatParameters parameters(*layer);
  const torch::Tensor gradient = torch::zeros_like(parameters.values());
  std::vector<std::pair<int64_t, int64_t>> told;
  const GradientTarget target(parameters, gradient,
                              [&](int64_t offset, int64_t count) { told.emplace_back(offset, count); });
  GradientTarget::tensor_for(layer->bias).fill_(1);
  EXPECT_TRUE(told.empty()) << "it may not be written yet";
  GradientTarget::tensor_for(layer->bias);
  EXPECT_TRUE(told.empty()) << "a second gradient of the same parameter may still be added to it";
  GradientTarget::tensor_for(layer->weight).fill_(2);
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{6, 2}}));
  EXPECT_TRUE(gradient.equal(torch::tensor({2, 2, 2, 2, 2, 2, 1, 1}).to(torch::kFloat32)));
}

}  // namespace
}  // namespace batchplus
