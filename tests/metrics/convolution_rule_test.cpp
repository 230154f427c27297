#include "metrics/convolution_rule.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

TEST(ConvolutionPlan, FormsWhereMapsAreLargeAndTakesGramsWhereWeightsAreMany) {
  const auto plan = [](int64_t in, int64_t out, int64_t side) {
    return plan_convolution({in, out, 3, 1, 1, side, side, side, side});
  };
  EXPECT_EQ(plan(16, 16, 32), ConvolutionPlan::kForm);
  EXPECT_EQ(plan(64, 128, 16), ConvolutionPlan::kForm);
  EXPECT_EQ(plan(512, 512, 4), ConvolutionPlan::kGram);
  EXPECT_EQ(plan(512, 512, 2), ConvolutionPlan::kGram);
}

}  // namespace
}  // namespace batchplus
