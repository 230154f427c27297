#include "run/implicit_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace batchplus {
namespace {

using ::testing::HasSubstr;

RunPlan plan_of(const std::string& method, const std::function<void(RunConfig&)>& change = {}) {
  RunConfig config;
  config.method = method;
  config.inner_batch = 10;
  config.epochs = 4;
  if (change) change(config);
  DatasetInfo info = find_dataset("synthetic");
  info.train_samples = 100;
  return resolve(config, info);
}

ImplicitTraining at(const RunPlan& plan, double epochs_done) {
  return implicit_training_at(plan, {.epochs_done = epochs_done, .learning_rate = 0.05});
}

TEST(ImplicitTraining, TakesTheMethodsCoefficientAndBatches) {
  const auto coefficient = [](const std::string& method) {
    return at(plan_of(method), 1).training.value().coefficient;
  };
  for (const char* method : {"sgd", "modified-sgd"}) EXPECT_EQ(coefficient(method), 0) << method;
  for (const char* method : {"svrg", "b-svrg", "sarah"}) EXPECT_EQ(coefficient(method), -1) << method;
  for (const char* method : {"psvrg", "bp-svrg"}) EXPECT_EQ(coefficient(method), 1) << method;
  const ImplicitRegularization bp = at(plan_of("bp-svrg"), 1).training.value();
  EXPECT_EQ(bp.inner_batch, 10);
  EXPECT_EQ(bp.outer_batch, 20);
  EXPECT_EQ(bp.learning_rate, 0.05);
  EXPECT_TRUE(bp.is_reshuffled);
  EXPECT_EQ(at(plan_of("svrg"), 1).training.value().outer_batch, 100);
}

TEST(ImplicitTraining, FollowsACoefficientThatDecays) {
  // linear:-0.5 over 4 epochs.
  EXPECT_DOUBLE_EQ(at(plan_of("alpha-svrg"), 1).training.value().coefficient, -0.5 * 0.75);
  EXPECT_DOUBLE_EQ(at(plan_of("alpha-svrg"), 4).training.value().coefficient, 0);
}

TEST(ImplicitTraining, OfAWarmUpIsThatOfItsMethod) {
  const RunPlan plan = plan_of("bp-svrg", [](RunConfig& config) { config.warmup_epochs = 2; });
  EXPECT_EQ(at(plan, 2).training.value().coefficient, 0);
  EXPECT_EQ(at(plan, 3).training.value().coefficient, 1);
}

TEST(ImplicitTraining, KnowsHowOuterBatchesAreDrawn) {
  const RunPlan plan =
      plan_of("bp-svrg", [](RunConfig& config) { config.sampling = std::string("independent"); });
  const ImplicitRegularization training = at(plan, 1).training.value();
  EXPECT_FALSE(training.is_reshuffled);
  EXPECT_EQ(training.train_samples, 100);
}

TEST(ImplicitTraining, SaysWhereTheTheoryHasNoAnswer) {
  const auto why_not = [](const RunPlan& plan) {
    const ImplicitTraining implicit = at(plan, 1);
    EXPECT_FALSE(implicit.training.has_value());
    return implicit.why_not;
  };
  EXPECT_THAT(why_not(plan_of("sam")), HasSubstr("no factor for sam"));
  EXPECT_THAT(why_not(plan_of("nag")), HasSubstr("update rule is nesterov"));
  EXPECT_THAT(why_not(plan_of("adam", [](RunConfig& config) { config.momentum = 0; })),
              HasSubstr("update rule is adam"));
  EXPECT_THAT(why_not(plan_of("momentum")), HasSubstr("update rule is heavy-ball"));
  EXPECT_THAT(
      why_not(plan_of("bp-svrg", [](RunConfig& config) { config.update_rule = std::string("nesterov"); })),
      HasSubstr("nesterov"));
  EXPECT_THAT(why_not(plan_of("sarah", [](RunConfig& config) { config.coefficient = std::string("1"); })),
              HasSubstr("sarah with coefficient 1"));
  // Without momentum the rules are all plain steps.
  const RunPlan still = plan_of("nag", [](RunConfig& config) { config.momentum = 0; });
  EXPECT_EQ(at(still, 1).training.value().coefficient, 0);
}

}  // namespace
}  // namespace batchplus
