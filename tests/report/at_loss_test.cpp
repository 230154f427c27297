#include "report/at_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/arrange.h"
#include "report/result_tables.h"
#include "report/write_report.h"
#include "support/expect_error.h"
#include "support/finished_run.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using Outcome = AtLoss::Outcome;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;
using testing::write_run;

/// What a run with these training losses and test accuracies after its epochs recorded.
StoredRun run_with(const std::vector<double>& losses, const std::vector<double>& accuracies) {
  const Scratch scratch;
  write_run(scratch / "run", {.test_accuracies = accuracies, .train_losses = losses});
  return read_run(scratch / "run");
}

double value(const StoredRun& run, const std::string& quantity, double level) {
  const AtLoss at = value_at_loss(run, quantity, level);
  EXPECT_EQ(at.outcome, Outcome::kReached);
  return at.value.value();
}

// 40 gradient evaluations an epoch. From 1.0 to 0.5 the loss is at 0.8 after 0.4 of the way.
TEST(AtLoss, IsLinearInTheLossBetweenTheTwoRecordsAroundTheLevel) {
  const StoredRun run = run_with({2.0, 1.0, 0.5}, {20, 40, 50});
  EXPECT_NEAR(value(run, "test_accuracy", 0.8), 44, 1e-12);
  EXPECT_NEAR(value(run, "gradient_evaluations", 0.8), 96, 1e-12);
  EXPECT_NEAR(value(run, "loss_gap", 0.8), (3 - 44 / 50.0) - 0.8, 1e-12);
  EXPECT_NEAR(value(run, "train_accuracy", 0.8), 54, 1e-12);
  EXPECT_NEAR(value(run, "train_loss", 0.8), 0.8, 1e-12);
}

TEST(AtLoss, ARecordAtTheLevelIsTakenAsItIs) {
  const StoredRun run = run_with({2.0, 1.0, 0.5}, {20, 40, 50});
  EXPECT_EQ(value(run, "test_accuracy", 2.0), 20);
  EXPECT_EQ(value(run, "test_accuracy", 1.0), 40);
  EXPECT_EQ(value(run, "test_accuracy", 0.5), 50);
}

// From 2.0 to 0.9 the loss is at 1.0 after 10/11 of the way; later it is above 1.0 once more.
TEST(AtLoss, TheFirstCrossingCounts) {
  const StoredRun run = run_with({2.0, 0.9, 1.2, 0.6}, {20, 42, 30, 60});
  EXPECT_NEAR(value(run, "test_accuracy", 1.0), 40, 1e-12);
}

TEST(AtLoss, SaysWhyARunHasNoValue) {
  const StoredRun run = run_with({2.0, 1.0}, {20, 40});
  EXPECT_EQ(value_at_loss(run, "test_accuracy", 0.9).outcome, Outcome::kNever);
  EXPECT_EQ(value_at_loss(run, "test_accuracy", 2.1).outcome, Outcome::kBelowFromTheStart);
  EXPECT_EQ(value_at_loss(run, "hessian_top", 1.5).outcome, Outcome::kNotRecorded);
  EXPECT_EQ(value_at_loss(run_with({}, {20, 40}), "test_accuracy", 1.5).outcome, Outcome::kNotRecorded);
}

/// sgd and nag over three seeds. At a loss of 1: sgd 31, 32 and 33 after 60 evaluations; nag 35, 35 and none,
/// because seed 3 ends at 1.5.
struct TwoMethods {
  Scratch scratch;
  Comparison comparison;

  TwoMethods() {
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const auto number = static_cast<double>(seed);
      write_run(scratch / fmt::format("runs/sgd-{}", seed), {.method = "sgd",
                                                             .seed = seed,
                                                             .test_accuracies = {20 + number, 40 + number},
                                                             .train_losses = {1.5, 0.5}});
      write_run(scratch / fmt::format("runs/nag-{}", seed), {.method = "nag",
                                                             .seed = seed,
                                                             .test_accuracies = {30, 40},
                                                             .train_losses = {2.0, seed == 3 ? 1.5 : 0.0}});
    }
    comparison = arrange_runs(find_runs({scratch / "runs"}));
    comparison.options.at_loss = {1, 0.25};
  }
};

TEST(AtLossTable, ShowsMeansOverTheSeedsThatGotThereAndNamesTheOthers) {
  TwoMethods two;
  read_runs(two.comparison);
  const Table table = at_loss_table(two.comparison, find_quantity("test_accuracy", ""));
  EXPECT_EQ(table.title, "Test accuracy (%) at equal training loss");
  EXPECT_EQ(table.header, (std::vector<std::string>{"training loss", "nag", "sgd"}));
  ASSERT_EQ(table.rows.size(), 2U) << "a row for each level";
  EXPECT_EQ(table.rows[0][0].text, "1");
  EXPECT_EQ(table.rows[0][1].text, "35.00 ± 0.00 (2; 1 not at it)");
  EXPECT_EQ(table.rows[0][2].text, "32.00 ± 1.00 (3)");
  EXPECT_TRUE(table.rows[0][1].is_bold);
  // From 2.0 to 0.0 at 0.25 after 7/8 of the way.
  EXPECT_EQ(table.rows[1][1].text, "38.75 ± 0.00 (2; 1 not at it)");
  EXPECT_EQ(table.rows[1][2].text, "none of 3");
  EXPECT_THAT(table.note, HasSubstr("Never reached 0.25: nag seed 3; sgd seed 1; sgd seed 2; sgd seed 3."));
  EXPECT_THAT(table.note, HasSubstr("Never reached 1: nag seed 3."));
  const Table cost = at_loss_table(two.comparison, find_quantity("gradient_evaluations", ""));
  EXPECT_EQ(cost.rows[0][2].text, "60.0 ± 0.0 (3)");
}

// Seeds 1 and 2: 35 - 31 and 35 - 32. Of two differences 4 and 3: t = 3.5 / 0.5 = 7 with one degree of
// freedom, so p = 2/pi atan(1/7) = 0.0903; the interval is 3.5 +- 12.706 0.5.
TEST(AtLossTable, PairsTheSeedsThatBothGotThere) {
  TwoMethods two;
  read_runs(two.comparison);
  const Table table = at_loss_paired_table(two.comparison, find_quantity("test_accuracy", ""));
  ASSERT_EQ(table.rows.size(), 1U) << "at 0.25 no seed has both";
  std::vector<std::string> texts;
  for (const TableCell& cell : table.rows[0]) texts.push_back(cell.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"1", "nag − sgd", "+3.50", "-2.85 to +9.85", "2", "0.090", "0.090"}));
}

// Every level is a hypothesis of its own: Holm's correction counts the lines of all levels.
TEST(AtLossTable, CorrectsForTheLevelsToo) {
  TwoMethods two;
  two.comparison.options.at_loss = {1, 1.25};
  read_runs(two.comparison);
  const Table table = at_loss_paired_table(two.comparison, find_quantity("test_accuracy", ""));
  ASSERT_EQ(table.rows.size(), 2U);
  // At 1.25: 33.75 - 26 and 33.75 - 27: t = 7.25 / 0.5, p = 2/pi atan(1/14.5) = 0.0438.
  EXPECT_EQ(table.rows[1][5].text, "0.044");
  EXPECT_EQ(table.rows[1][6].text, "0.088") << "the smaller of two, doubled";
  EXPECT_EQ(table.rows[0][6].text, "0.090") << "the larger one as it is";
}

TEST(AtLossTable, IsInEveryFormatAndOnThePageBesideTheFinalOne) {
  TwoMethods two;
  const fs::path out = two.scratch / "out";
  const WrittenReport report = write_report(two.comparison, out, /*has_figures=*/false);
  for (const char* name : {"at_loss_test_accuracy", "at_loss_test_accuracy_paired",
                           "at_loss_gradient_evaluations", "at_loss_gradient_evaluations_paired"}) {
    for (const char* ending : {".txt", ".md", ".tex", ".csv"}) {
      EXPECT_TRUE(fs::exists(out / "tables" / (std::string(name) + ending))) << name << ending;
    }
  }
  for (const char* file : {"index.html", "report.md"}) {
    const std::string text = read_file(out / file);
    EXPECT_THAT(text, HasSubstr("Test accuracy (%) at the end of training")) << file;
    EXPECT_THAT(text, HasSubstr("Test accuracy (%) at equal training loss")) << file;
    EXPECT_THAT(text, HasSubstr("32.00 ± 1.00 (3)")) << file;
  }
  EXPECT_THAT(read_file(out / "tables" / "at_loss_test_accuracy.tex"), HasSubstr("32.00 $\\pm$ 1.00 (3)"));
  EXPECT_THAT(read_file(out / "tables" / "at_loss_test_accuracy.csv"), HasSubstr("32.00 ± 1.00 (3)"));
  const Json& nag = report.json["cells"][0]["at_loss"][0];
  EXPECT_EQ(nag["loss"], 1);
  EXPECT_EQ(nag["test_accuracy"]["mean"], 35);
  EXPECT_EQ(nag["test_accuracy"]["n"], 2);
  EXPECT_EQ(nag["never"].size(), 1U);
}

TEST(AtLossTable, NamesInJsonEveryRunWithoutAValue) {
  const Scratch scratch;
  write_run(scratch / "runs/a", {.seed = 1, .test_accuracies = {30, 40}, .train_losses = {2.0, 0.5}});
  write_run(scratch / "runs/b", {.seed = 2, .test_accuracies = {30, 40}, .train_losses = {0.9, 0.5}});
  write_run(scratch / "runs/c", {.seed = 3, .test_accuracies = {30, 40}, .train_losses = {2.0, 1.5}});
  write_run(scratch / "runs/d", {.seed = 4, .test_accuracies = {30, 40}});
  Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  comparison.options.at_loss = {1};
  const WrittenReport report = write_report(comparison, scratch / "out", /*has_figures=*/false);
  const Json& cell = report.json["cells"][0];
  const Json& level = cell["at_loss"][0];
  EXPECT_EQ(level["test_accuracy"]["n"], 1);
  EXPECT_EQ(level["below_from_the_start"], Json::array({cell["runs"][1]}));
  EXPECT_EQ(level["never"], Json::array({cell["runs"][2]}));
  EXPECT_EQ(level["not_recorded"], Json::array({cell["runs"][3]}));
}

// Both take 60 gradient evaluations to a loss of 1, one of 10 and one of 20 samples.
TEST(AtLossTable, CountsSampleGradientsWhereInnerBatchesDiffer) {
  const Scratch scratch;
  for (const int inner_batch : {10, 20}) {
    write_run(scratch / fmt::format("runs/{}", inner_batch),
              {.inner_batch = inner_batch,
               .test_accuracies = {30, 40},
               .train_losses = {1.5, 0.5},
               .more_config = fmt::format("inner_batch = {}\n", inner_batch)});
  }
  Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  comparison.options.at_loss = {1};
  const WrittenReport report = write_report(comparison, scratch / "out", /*has_figures=*/false);
  EXPECT_EQ(report.json["cells"][0]["at_loss"][0]["sample_gradients"]["mean"], 600);
  EXPECT_EQ(report.json["cells"][1]["at_loss"][0]["sample_gradients"]["mean"], 1200);
  EXPECT_THAT(report.text, HasSubstr("Sample gradients at equal training loss"));
  EXPECT_THAT(report.text, Not(HasSubstr("Gradient evaluations at equal training loss")));
  EXPECT_THAT(read_file(scratch / "out" / "report.md"), HasSubstr("inner batches of 10, 20 samples"));
  comparison.options.tables = {"gradient_evaluations"};
  const std::string text = write_report(comparison, scratch / "own", /*has_figures=*/false).text;
  EXPECT_THAT(text, HasSubstr(" 60.0 (1)"));
  EXPECT_THAT(text, Not(HasSubstr("*60.0 (1)")));
}

TEST(AtLossTable, IsNotThereUnlessAskedFor) {
  TwoMethods two;
  two.comparison.options.at_loss.clear();
  const WrittenReport report = write_report(two.comparison, two.scratch / "out", /*has_figures=*/false);
  EXPECT_THAT(report.text, Not(HasSubstr("at equal training loss")));
  EXPECT_FALSE(report.json["cells"][0].contains("at_loss"));
}

TEST(AtLossTable, WithoutAnEvaluatedTrainingLossSaysWhichMetricsItNeeds) {
  const Scratch scratch;
  write_run(scratch / "runs/a", {});
  Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  comparison.options.at_loss = {1};
  expect_error([&] { write_report(comparison, scratch / "out"); },
               {"training loss in evaluation mode", "metrics = \"gaps\""});
}

}  // namespace
}  // namespace batchplus
