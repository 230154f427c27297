#include "watch/record_columns.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/quantities.h"

namespace batchplus {
namespace {

const std::set<std::string> kKeys = {"epoch", "test_loss", "test_accuracy", "loss_gap", "train_loss"};

TEST(RecordColumns, GiveBackTheNumbersOfTheRecords) {
  RecordColumns columns;
  EXPECT_TRUE(columns.add(R"({"epoch": 1, "test_loss": 0.5, "note": "x", "list": [1, 2]})"));
  EXPECT_TRUE(columns.add(
      R"({"epoch": 2, "loss_gap": {"value": 0.25, "train_loss": 0.125, "batchnorm": "eval"}, "nothing": null})"));
  EXPECT_EQ(columns.count(), 2U);
  EXPECT_EQ(columns.newest("test_loss"), 0.5) << "the newest that was recorded";
  EXPECT_EQ(columns.newest("loss_gap"), 0.25);
  EXPECT_TRUE(std::isnan(columns.newest("list")));
  const std::vector<Json> records = columns.records(1, kKeys);
  EXPECT_EQ(records[0], Json({{"epoch", 1}, {"test_loss", 0.5}}));
  EXPECT_EQ(value_of(records[1], "loss_gap"), 0.25);
  EXPECT_EQ(evaluated_train_loss(records[1]), 0.125);
  EXPECT_EQ(recorded_value(records[1], "train_loss"), 0.125);
  EXPECT_EQ(columns.records(1, {"epoch"})[0], Json({{"epoch", 1}})) << "only what is asked for";
}

TEST(RecordColumns, TakeTheLastOfAKeyThatARecordHasTwice) {
  RecordColumns columns;
  ASSERT_TRUE(columns.add(R"({"epoch": 1, "test_loss": 0.5, "test_loss": 0.25})"));
  ASSERT_TRUE(columns.add(R"({"epoch": 2, "test_loss": 0.125})"));
  columns.shrink();
  EXPECT_EQ(columns.at("test_loss", 0), 0.25);
  EXPECT_EQ(columns.at("test_loss", 1), 0.125);
}

TEST(RecordColumns, RefuseWhatIsNoRecord) {
  RecordColumns columns;
  for (const char* line : {"", "nonsense", "[1]", "1", "{", "{\"a\": 1} x", "{\"a\": \xff}"})
    EXPECT_FALSE(columns.add(line)) << line;
  EXPECT_EQ(columns.count(), 0U);
  EXPECT_TRUE(columns.add(std::string(10'000, '[').insert(0, "{\"a\":") + std::string(10'000, ']') + "}"));
}

TEST(RecordColumns, KeepTheExtremesAndTheLastOfVeryManyRecords) {
  RecordColumns columns;
  constexpr int kRecords = 100'001;
  constexpr int kPeak = 54'321;
  for (int i = 0; i < kRecords; ++i) {
    const double accuracy = i == kPeak ? 99 : 50;
    ASSERT_TRUE(columns.add(Json{{"epoch", i}, {"test_accuracy", accuracy}}.dump()));
  }
  EXPECT_EQ(columns.count(), static_cast<size_t>(kRecords));
  EXPECT_LT(columns.kept(), 10'000U);
  StoredRun run;
  run.metrics = columns.records(7, kKeys);
  EXPECT_EQ(best_value(run, find_quantity("test_accuracy", "")), 99);
  bool has_last = false;
  for (const Json& record : run.metrics) has_last |= value_of(record, "epoch") == kRecords - 1;
  EXPECT_TRUE(has_last);
}

}  // namespace
}  // namespace batchplus
