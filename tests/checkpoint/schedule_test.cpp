#include "checkpoint/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "support/expect_error.h"

namespace batchplus {
namespace {

TrainState after(double epochs, int64_t outer_batches) {
  TrainState state;
  state.outer_batches = outer_batches;
  state.last.epochs_done = epochs;
  return state;
}

TEST(CheckpointSchedule, CountsEpochsFromTheLastOne) {
  CheckpointSchedule schedule = CheckpointSchedule::parse("2", "test");
  EXPECT_FALSE(schedule.is_due(after(1, 0)));
  EXPECT_FALSE(schedule.is_due(after(2, 10))) << "the epoch's record comes first";
  EXPECT_TRUE(schedule.is_due(after(2, 0)));
  schedule.restart(after(2, 0));
  EXPECT_FALSE(schedule.is_due(after(3.9, 9)));
  EXPECT_TRUE(schedule.is_due(after(4, 0)));
}

TEST(CheckpointSchedule, TakesPartsOfEpochs) {
  CheckpointSchedule schedule = CheckpointSchedule::parse("0.25", "test");
  EXPECT_FALSE(schedule.is_due(after(0.2, 2)));
  EXPECT_TRUE(schedule.is_due(after(0.3, 3)));
}

TEST(CheckpointSchedule, TakesWhicheverComesFirst) {
  double seconds = 1000;
  CheckpointSchedule schedule = CheckpointSchedule::parse("1,5m", "test", [&] { return seconds; });
  EXPECT_TRUE(schedule.is_due(after(1, 0)));
  seconds += 299;
  EXPECT_FALSE(schedule.is_due(after(0.1, 1)));
  seconds += 1;
  EXPECT_TRUE(schedule.is_due(after(0.1, 1)));
  schedule.restart(after(0.1, 1));
  EXPECT_FALSE(schedule.is_due(after(0.2, 2))) << "the time counts from the last one";
  seconds += 300;
  EXPECT_TRUE(schedule.is_due(after(0.2, 2)));
}

TEST(CheckpointSchedule, TakesSecondsMinutesAndHours) {
  for (const auto& [text, due] : std::map<std::string, double>{{"90s", 90}, {"1.5m", 90}, {"2h", 7200}}) {
    double seconds = 0;
    const CheckpointSchedule schedule = CheckpointSchedule::parse(text, "test", [&] { return seconds; });
    seconds = due - 1;
    EXPECT_FALSE(schedule.is_due(after(0.1, 1))) << text;
    seconds = due;
    EXPECT_TRUE(schedule.is_due(after(0.1, 1))) << text;
  }
}

TEST(CheckpointSchedule, SavesTheEndOnceAndNeverMeansNever) {
  TrainState over = after(0.5, 0);
  over.is_over = true;
  CheckpointSchedule schedule = CheckpointSchedule::parse("7", "test");
  EXPECT_TRUE(schedule.is_due(over));
  schedule.restart(over);
  EXPECT_FALSE(schedule.is_due(over));
  EXPECT_FALSE(CheckpointSchedule::parse("never", "test").is_due(over));
}

TEST(CheckpointSchedule, RefusesWhatIsNone) {
  for (const char* text : {"", "0", "-1", "x", "5x", "1,2", "3s,4m", "1,", "nan", "inf", "m", "1e"}) {
    testing::expect_error([&] { CheckpointSchedule::parse(text, "--checkpoint-every"); },
                          {"not a checkpoint schedule", "--checkpoint-every", "10m"});
  }
}

}  // namespace
}  // namespace batchplus
