// That it computes what PyTorch computes, as every network: networks_test.cpp and tests/fixtures/networks.py.

#include "networks/wide_resnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "networks/registry.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

TEST(WideResnet, HasThePublishedNumberOfParameters) {
  const auto count = [](const char* name) {
    return count_parameters(*build_network(find_network(name), {}, 1).module);
  };
  EXPECT_EQ(count("wrn-16-4"), 2748890);
  EXPECT_EQ(count("wrn-28-10"), 36479194);
}

TEST(WideResnet, RefusesADepthThatItDoesNotHave) {
  testing::expect_error([] { build_network(find_network("wrn-16-4:depth=17"), {}, 1); },
                        {"no such depth", "depth=17", "6n + 4"});
}

// Where dropout leaves next to nothing of what the second convolution reads, a block is its shortcut, as it
// is where that convolution is zero.
TEST(WideResnet, DropsBetweenTheConvolutionsOfABlock) {
  torch::manual_seed(1);
  WideBlock block({.in = 4, .out = 8, .stride = 2, .dropout = 0.999999});
  const torch::Tensor x = torch::randn({2, 4, 8, 8});
  const torch::Tensor dropped = block.forward(x);
  {
    const torch::NoGradGuard no_grad;
    block.named_parameters()["conv2.weight"].zero_();
  }
  EXPECT_TRUE(block.forward(x).equal(dropped));
}

}  // namespace
}  // namespace batchplus
