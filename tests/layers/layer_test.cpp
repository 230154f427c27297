#include "layers/layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "layers/batch_norm.h"
#include "layers/convolution.h"
#include "layers/linear.h"

namespace batchplus {
namespace {

TEST(Layer, SaysWhatItIs) {
  EXPECT_EQ(Convolution({.in = 3, .out = 4, .kernel = 5}).describe(), "conv 5x5");
  EXPECT_EQ(Convolution({.in = 3, .out = 4, .stride = 2}).describe(), "conv 3x3/2");
  EXPECT_EQ(Linear(3, 4).describe(), "linear");
  EXPECT_EQ(BatchNorm(3).describe(), "batch norm");
}

TEST(Layer, CountsTheMacsOfItsProducts) {
  EXPECT_EQ(Linear(3, 4).macs(torch::zeros({1, 4})), 3 * 4);
  // 3x3x3 products for each of 4 maps of 6x5 pixels.
  EXPECT_EQ(Convolution({.in = 3, .out = 4}).macs(torch::zeros({1, 4, 6, 5})), 27 * 4 * 30);
  EXPECT_EQ(BatchNorm(3).macs(torch::zeros({1, 3, 6, 5})), 0);
}

// Means over pixels commute with a 1x1 convolution; with another they do not, and it must not try.
TEST(Convolution, AveragedIsTheAverageOfWhatItGives) {
  for (const int64_t kernel : {1, 3}) {
    torch::manual_seed(1);
    Convolution convolution({.in = 5, .out = 4, .kernel = kernel, .padding = kernel / 2});
    const torch::Tensor x = torch::randn({2, 5, 8, 8});
    const torch::Tensor averaged = convolution.average_pooled(x, 2);
    convolution.to(torch::kFloat64);
    const torch::Tensor exact = at::avg_pool2d(
        at::conv2d(x.to(torch::kFloat64), convolution.weight(), convolution.bias(), 1, kernel / 2), 2);
    // Sums of up to 45 products in single precision.
    EXPECT_LT((averaged - exact).abs().max().item<double>(), 1e-5) << kernel;
  }
}

TEST(KernelsInScope, EndWithIt) {
  Linear layer(3, 4);
  layer.set_kernels(Kernels::kDirect);
  {
    const KernelsInScope scope(layer, Kernels::kAten);
    EXPECT_EQ(layer.kernels(), Kernels::kAten);
  }
  EXPECT_EQ(layer.kernels(), Kernels::kDirect);
}

}  // namespace
}  // namespace batchplus
