#include "layers/initialization.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "layers/batch_norm.h"
#include "layers/convolution.h"
#include "layers/linear.h"

namespace batchplus {
namespace {

struct OneOfEach : torch::nn::Module {
  std::shared_ptr<Convolution> convolution =
      register_module("convolution", make_convolution({.in = 3, .out = 4}));
  std::shared_ptr<BatchNorm> norm = register_module("norm", std::make_shared<BatchNorm>(4));
  std::shared_ptr<Linear> linear = register_module("linear", std::make_shared<Linear>(5, 6));
};

/// Says "seven" of every parameter that it is asked for.
const Fill kSeven = [](torch::Tensor parameter) { parameter.fill_(7); };

bool is_seven(const torch::Tensor& parameter) {
  return parameter.eq(7).all().item<bool>();
}

TEST(Initialization, FillsWhatItNamesAndNothingElse) {
  OneOfEach network;
  const torch::Tensor bias = network.convolution->bias().clone();
  initialize(network, {.convolution = {.weight = kSeven}, .linear = {.bias = kSeven}});
  EXPECT_TRUE(is_seven(network.convolution->weight()));
  EXPECT_TRUE(network.convolution->bias().equal(bias));
  EXPECT_FALSE(is_seven(network.linear->weight()));
  EXPECT_TRUE(is_seven(network.linear->bias()));
}

// A scheme cannot even name a normalisation layer.
TEST(Initialization, LeavesNormalizationAtOneAndZero) {
  OneOfEach network;
  initialize(network, {.convolution = {kSeven, kSeven}, .linear = {kSeven, kSeven}});
  EXPECT_TRUE(network.norm->weight().equal(torch::ones({4})));
  EXPECT_TRUE(network.norm->bias().equal(torch::zeros({4})));
}

TEST(Initialization, PassesOverABiasThatIsNotThere) {
  Convolution convolution({.in = 3, .out = 4, .has_bias = false});
  initialize(convolution, {.convolution = {.weight = kSeven, .bias = kSeven}});
  EXPECT_TRUE(is_seven(convolution.weight()));
  EXPECT_FALSE(convolution.bias().defined());
}

}  // namespace
}  // namespace batchplus
