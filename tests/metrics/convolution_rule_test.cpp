#include "metrics/convolution_rule.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

ConvolutionPlan plan_for(int64_t in, int64_t out, int64_t side, bool may_use_winograd) {
  return plan_convolution({in, out, 3, 1, 1, side, side, side, side}, may_use_winograd);
}

TEST(ConvolutionPlan, FormsWhereMapsAreLargeAndTakesGramsWhereWeightsAreMany) {
  const auto plan = [](int64_t in, int64_t out, int64_t side) { return plan_for(in, out, side, false); };
  EXPECT_EQ(plan(16, 16, 32), ConvolutionPlan::kForm);
  EXPECT_EQ(plan(64, 128, 16), ConvolutionPlan::kForm);
  EXPECT_EQ(plan(512, 512, 4), ConvolutionPlan::kGram);
  EXPECT_EQ(plan(512, 512, 2), ConvolutionPlan::kGram);
}

TEST(ConvolutionPlan, FormsByWinogradsTransformsWhereTheyAreAllowedAndFit) {
  EXPECT_EQ(plan_for(16, 16, 32, true), ConvolutionPlan::kWinograd);
  EXPECT_EQ(plan_for(64, 128, 16, true), ConvolutionPlan::kWinograd);
  EXPECT_EQ(plan_for(512, 512, 4, true), ConvolutionPlan::kGram);
  EXPECT_EQ(plan_for(3, 64, 32, true), ConvolutionPlan::kForm);
  EXPECT_EQ(plan_convolution({16, 32, 3, 2, 1, 32, 32, 16, 16}, true), ConvolutionPlan::kForm);
}

}  // namespace
}  // namespace batchplus
