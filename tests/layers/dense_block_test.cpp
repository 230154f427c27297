#include "layers/dense_block.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "layers/layer.h"

namespace batchplus {
namespace {

/// A block of random weights, the same each time.
DenseBlock make_block(bool is_bottleneck, Kernels kernels) {
  torch::manual_seed(1);
  DenseBlock block({.in = 6, .layers = 3, .growth = 4, .is_bottleneck = is_bottleneck});
  use_kernels(block, kernels);
  return block;
}

struct Pass {
  torch::Tensor output;
  std::vector<torch::Tensor> gradients;
};

Pass run(DenseBlock& block, const torch::Tensor& images) {
  const torch::Tensor x = images.clone().set_requires_grad(true);
  std::vector<torch::Tensor> wanted = block.parameters();
  wanted.push_back(x);
  const torch::Tensor y = block.forward(x);
  return {y.detach(), torch::autograd::grad({y.square().mean()}, wanted)};
}

// One tensor for all layers, moments taken once, convolutions that read normalised maps: the block by own
// kernels has a path of its own, and libtorch in double precision says what it must give.
TEST(DenseBlock, ComputesByOwnKernelsWhatItsLayersComputeInDouble) {
  for (const bool is_bottleneck : {false, true}) {
    torch::manual_seed(2);
    const torch::Tensor images = torch::randn({5, 6, 8, 8}).contiguous(torch::MemoryFormat::ChannelsLast);
    DenseBlock exact_block = make_block(is_bottleneck, Kernels::kAten);
    exact_block.to(torch::kFloat64);
    const Pass exact = run(exact_block, images.to(torch::kFloat64));
    EXPECT_EQ(exact.output.size(1), 6 + 3 * 4);
    for (const Kernels kernels : {Kernels::kFast, Kernels::kDirect, Kernels::kAten}) {
      DenseBlock block = make_block(is_bottleneck, kernels);
      const Pass pass = run(block, images);
      // Single precision over three layers.
      EXPECT_LT((pass.output - exact.output).norm().item<double>(),
                1e-5 * exact.output.norm().item<double>());
      for (size_t i = 0; i < pass.gradients.size(); ++i) {
        const double size = exact.gradients[i].norm().item<double>();
        EXPECT_LT((pass.gradients[i] - exact.gradients[i]).norm().item<double>(), 1e-4 * size) << i;
      }
    }
  }
}

TEST(DenseBlock, HasTheReferencesNames) {
  const DenseBlock block = make_block(/*is_bottleneck=*/true, Kernels::kFast);
  const auto names = block.named_parameters().keys();
  EXPECT_EQ(names[0], "layer.0.bn1.weight");
  EXPECT_EQ(names[2], "layer.0.conv1.weight");
  EXPECT_EQ(names[5], "layer.0.conv2.weight");
  EXPECT_EQ(names.size(), 3 * 6);
}

}  // namespace
}  // namespace batchplus
