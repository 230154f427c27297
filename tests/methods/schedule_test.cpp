#include "methods/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

TEST(Schedule, ConstantStaysOne) {
  const Schedule schedule = Schedule::parse("constant", "--schedule");
  EXPECT_EQ(schedule.factor(0), 1);
  EXPECT_EQ(schedule.factor(0.99), 1);
}

TEST(Schedule, StepDividesAtEachFractionExactlyWhenItsEpochBegins) {
  const Schedule schedule = Schedule::parse("step:0.4,0.6,0.8/10", "--schedule");
  EXPECT_EQ(schedule.factor(99.0 / 250), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(100.0 / 250), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(150.0 / 250), 0.01);
  EXPECT_DOUBLE_EQ(schedule.factor(200.0 / 250), 0.001);
}

TEST(Schedule, CosineFallsFromOneToZero) {
  const Schedule schedule = Schedule::parse("cosine", "--schedule");
  EXPECT_EQ(schedule.factor(0), 1);
  EXPECT_NEAR(schedule.factor(0.5), 0.5, 1e-15);
  EXPECT_NEAR(schedule.factor(1), 0, 1e-15);
}

TEST(Schedule, WarmupRisesLinearlyAndThenFollowsTheOther) {
  const Schedule schedule = Schedule::parse("warmup:0.1+step:0.5/10", "--schedule");
  EXPECT_EQ(schedule.factor(0), 0);
  EXPECT_DOUBLE_EQ(schedule.factor(0.05), 0.5);
  EXPECT_EQ(schedule.factor(0.1), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(0.5), 0.1);
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  for (const char* wrong : {"", "exp", "step", "step:0.5", "step:0.5/0", "step:1.5/10", "step:0.8,0.4/10",
                            "step:0.5/10/10", "warmup:0.1", "warmup:2+cosine", "warmup:0.1+", "step:/10"}) {
    expect_error([&] { Schedule::parse(wrong, "--schedule"); }, {"--schedule"});
  }
}

TEST(CoefficientSchedule, IsConstantOrDecaysLinearly) {
  EXPECT_EQ(CoefficientSchedule::parse("-1", "c").value(0.7), -1);
  const CoefficientSchedule linear = CoefficientSchedule::parse("linear:-0.5", "c");
  EXPECT_EQ(linear.value(0), -0.5);
  EXPECT_DOUBLE_EQ(linear.value(0.75), -0.125);
  EXPECT_EQ(linear.value(1), 0);
  EXPECT_FALSE(std::signbit(linear.value(1)));
  expect_error([] { CoefficientSchedule::parse("nan", "--coefficient"); }, {"--coefficient", "nan"});
  expect_error([] { CoefficientSchedule::parse("cosine:1", "--coefficient"); }, {"--coefficient"});
}

}  // namespace
}  // namespace batchplus
