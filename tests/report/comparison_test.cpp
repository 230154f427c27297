#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/arrange.h"
#include "report/curves.h"
#include "report/metric_gaps.h"
#include "support/expect_error.h"
#include "support/finished_run.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::expect_error;
using testing::FinishedRun;
using ::testing::HasSubstr;
using testing::Scratch;
using ::testing::UnorderedElementsAre;
using testing::write_run;

ComparedRun run_at(const fs::path& directory, int64_t seed) {
  return {.id = directory.filename(), .seed = seed, .directory = directory};
}

/// BP-SVRG decides between two learning rates, B-SVRG takes the same one.
struct Tried {
  Scratch scratch;
  Comparison comparison{.name = "t", .title = "t", .choice_key = "lr", .choice_by = "validation_accuracy"};

  Tried() { comparison.axes = {{"method", {"BP-SVRG", "B-SVRG"}}}; }

  void add(const std::string& method, const std::string& rate, const std::vector<FinishedRun>& runs) {
    ComparedCell cell{.labels = {method}, .choice = rate, .decided_by = {"BP-SVRG"}};
    for (const FinishedRun& run : runs) {
      const fs::path directory = scratch / (method + rate + "-" + std::to_string(run.seed));
      write_run(directory, run);
      cell.runs.push_back(run_at(directory, run.seed));
    }
    comparison.cells.push_back(cell);
  }
};

TEST(Comparison, TakesTheValueThatDidBestAndTheSameForItsFollower) {
  Tried tried;
  tried.add("BP-SVRG", "0.5",
            {{.seed = 1, .validation_accuracy = 60}, {.seed = 2, .validation_accuracy = 62}});
  tried.add("BP-SVRG", "1.0",
            {{.seed = 1, .validation_accuracy = 65}, {.seed = 2, .validation_accuracy = 58}});
  // On its own B-SVRG would take 0.5.
  tried.add("B-SVRG", "0.5", {{.seed = 1, .validation_accuracy = 90}});
  tried.add("B-SVRG", "1.0", {{.seed = 1, .validation_accuracy = 10}});
  read_runs(tried.comparison);
  const auto outcomes = settle_choices(tried.comparison);
  ASSERT_EQ(tried.comparison.cells.size(), 2U);
  for (const ComparedCell& cell : tried.comparison.cells) EXPECT_EQ(cell.choice, "1.0");
  ASSERT_EQ(tried.comparison.not_chosen.size(), 2U);
  for (const ComparedCell& cell : tried.comparison.not_chosen) EXPECT_EQ(cell.choice, "0.5");
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_EQ(outcomes[0].candidates.size(), 2U);
  EXPECT_EQ(outcomes[0].candidates[0].score.mean, 61);
  EXPECT_EQ(outcomes[0].candidates[1].score.mean, 61.5);
  EXPECT_TRUE(outcomes[0].candidates[1].is_chosen);
}

TEST(Comparison, SaysWhenTwoValuesDidEquallyWell) {
  Tried tried;
  tried.add("BP-SVRG", "0.5", {{.seed = 1, .validation_accuracy = 60}});
  tried.add("BP-SVRG", "1.0", {{.seed = 1, .validation_accuracy = 60}});
  tried.add("BP-SVRG", "2.0", {{.seed = 1, .validation_accuracy = 50}});
  read_runs(tried.comparison);
  settle_choices(tried.comparison);
  EXPECT_EQ(tried.comparison.cells[0].choice, "0.5");
  EXPECT_THAT(tried.comparison.notes,
              ElementsAre("BP-SVRG: lr 0.5 and 1.0 did equally well, and the first counts"));
}

// Of one seed a mean is higher by chance more easily than of two. A run that diverged is not missing.
TEST(Comparison, SaysWhenValuesWereTriedWithUnequalNumbersOfSeeds) {
  Tried tried;
  tried.add("BP-SVRG", "0.5",
            {{.seed = 1, .validation_accuracy = 60}, {.seed = 2, .validation_accuracy = 62}});
  tried.add("BP-SVRG", "1.0", {{.seed = 1, .validation_accuracy = 65}});
  tried.add("BP-SVRG", "2.0", {{.seed = 1, .validation_accuracy = 50}, {.seed = 2, .status = "diverged"}});
  read_runs(tried.comparison);
  settle_choices(tried.comparison);
  EXPECT_EQ(tried.comparison.cells[0].choice, "1.0");
  EXPECT_THAT(
      tried.comparison.notes,
      ElementsAre("BP-SVRG: lr was chosen among unequal numbers of finished runs (2 of 0.5, 1 of 1.0, "
                  "2 of 2.0)"));
}

TEST(Comparison, AValueThatDivergedIsTakenLast) {
  Tried tried;
  tried.add("BP-SVRG", "1.0", {{.seed = 1, .validation_accuracy = 80}, {.seed = 2, .status = "diverged"}});
  tried.add("BP-SVRG", "0.5",
            {{.seed = 1, .validation_accuracy = 60}, {.seed = 2, .validation_accuracy = 60}});
  read_runs(tried.comparison);
  settle_choices(tried.comparison);
  ASSERT_EQ(tried.comparison.cells.size(), 1U);
  EXPECT_EQ(tried.comparison.cells[0].choice, "0.5");
}

TEST(Comparison, CountsRunsThatAreNotThereAndThoseStillRunning) {
  const Scratch scratch;
  write_run(scratch / "a", {});
  write_run(scratch / "b", {.status = "running"});
  append_bytes(scratch / "b" / "metrics.jsonl", "{\"epoch\": 2, \"test_l");
  write_run(scratch / "c", {.status = "diverged"});
  Comparison comparison;
  comparison.cells = {{.labels = {"x"},
                       .runs = {run_at(scratch / "a", 1), run_at(scratch / "b", 2), run_at(scratch / "c", 3),
                                run_at(scratch / "d", 4)}}};
  read_runs(comparison);
  EXPECT_EQ(comparison.cells[0].count_done(), 1U);
  EXPECT_EQ(comparison.cells[0].count_diverged(), 1U);
  EXPECT_EQ(comparison.cells[0].count_missing(), 2U);
}

TEST(Arrange, MethodsAtDifferentTasksDoNotMeet) {
  const Scratch scratch;
  // Everything follows from the method.
  for (const int64_t seed : {1, 2}) {
    write_run(scratch / fmt::format("a{}", seed),
              {.method = "nag", .seed = seed, .more_config = "model = \"mlp\"\nlr = 0.1\n"});
    write_run(scratch / fmt::format("b{}", seed),
              {.method = "sgd", .seed = seed, .more_config = "model = \"vgg11\"\nlr = 0.2\n"});
  }
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  ASSERT_EQ(comparison.axes.size(), 2U);
  EXPECT_EQ(comparison.axes[0].name, "model");
  EXPECT_EQ(comparison.columns().name, "method");
  EXPECT_EQ(comparison.rows().size(), 2U);
  EXPECT_EQ(comparison.find({"mlp"}, "sgd"), nullptr);
  EXPECT_THAT(comparison.notes,
              ElementsAre("the runs also differ in lr, which follows from what the tables show"));
}

TEST(Arrange, RunsWithDifferentTestDataAreNotCompared) {
  const Scratch scratch;
  for (const int64_t limit : {100, 200}) {
    write_run(scratch / std::to_string(limit), {.more_config = fmt::format("test_limit = {}\n", limit)});
  }
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  EXPECT_EQ(comparison.rows().size(), 2U);
  EXPECT_EQ(comparison.columns().name, "method");
  EXPECT_EQ(comparison.columns().labels.size(), 1U);
}

// The pictures of a folder may change under one name.
TEST(Arrange, RunsWithOtherTestDataUnderOneNameAreNotCompared) {
  const Scratch scratch;
  const auto add = [&](const char* name, const char* method, int64_t seed, const Json& inputs) {
    write_run(scratch / "runs" / name, {.method = method, .seed = seed, .inputs = inputs});
  };
  add("1", "sgd", 1, {{"test", "1111222233334444"}, {"train", "t"}});
  add("2", "sgd", 2, {{"test", "1111222233334444"}, {"train", "t"}});
  add("3", "nag", 1, {{"test", "5555666677778888"}, {"train", "t"}});
  add("4", "nag", 2, {{"test", "1111222233334444"}, {"train", "t"}});
  // The same run on other pictures is no copy of it.
  add("5", "sgd", 1, {{"test", "5555666677778888"}, {"train", "t"}});
  add("6", "nag", 3, Json::object());
  const Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  ASSERT_EQ(comparison.axes.size(), 2U);
  EXPECT_EQ(comparison.axes[0].name, "test data");
  EXPECT_THAT(comparison.axes[0].labels, UnorderedElementsAre("11112222", "55556666", "unknown"));
  EXPECT_EQ(comparison.columns().name, "method");
  EXPECT_EQ(comparison.find({"11112222"}, "sgd")->runs.size(), 2U);
  EXPECT_EQ(comparison.find({"11112222"}, "nag")->runs.size(), 1U);
  EXPECT_EQ(comparison.find({"55556666"}, "sgd")->runs.size(), 1U);
  EXPECT_EQ(comparison.find({"unknown"}, "nag")->runs.size(), 1U);
  EXPECT_TRUE(comparison.notes.empty());
}

TEST(Arrange, WhatARunWasGivenIsNoAxisWhereItFollowsFromTheConfig) {
  const Scratch scratch;
  write_run(scratch / "runs/1",
            {.more_config = "train_limit = 10\n", .inputs = {{"test", "a"}, {"train", "b"}}});
  write_run(scratch / "runs/2",
            {.more_config = "train_limit = 20\n", .inputs = {{"test", "a"}, {"train", "c"}}});
  write_run(scratch / "runs/3", {.seed = 2, .more_config = "train_limit = 20\n"});
  const Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  ASSERT_EQ(comparison.axes.size(), 1U);
  EXPECT_EQ(comparison.axes[0].name, "train_limit");
}

// A run from before the digests, and a copy of it that knows them, are one.
TEST(Arrange, ACopyThatDoesNotSayWhatItWasGivenCountsOnce) {
  const Scratch scratch;
  write_run(scratch / "runs/1", {.inputs = {{"test", "a"}}});
  write_run(scratch / "runs/2", {});
  EXPECT_EQ(arrange_runs(find_runs({scratch / "runs"})).title, "1 run");
}

TEST(Arrange, AKeyThatFollowsFromTwoOthersIsNoAxis) {
  const Scratch scratch;
  for (const int64_t batch : {10, 16}) {
    for (const std::string method : {"nag", "b-svrg"}) {
      write_run(scratch / fmt::format("{}-{}", method, batch),
                {.method = method,
                 .more_config = fmt::format("inner_batch = {}\nouter_batch = \"{}\"\n", batch,
                                            method == "nag" ? batch : 2 * batch)});
    }
  }
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  ASSERT_EQ(comparison.axes.size(), 2U);
  EXPECT_EQ(comparison.axes[0].name, "inner_batch");
  EXPECT_EQ(comparison.columns().labels.size(), 2U);
  EXPECT_EQ(comparison.cells.size(), 4U);
}

TEST(Arrange, MakesAxesOfTheKeysThatDiffer) {
  const Scratch scratch;
  // The coefficient follows from the method, the learning rate does not.
  for (const std::string method : {"nag", "bp-svrg"}) {
    for (const std::string rate : {"0.1", "0.05"}) {
      for (const int64_t seed : {1, 2}) {
        const std::string coefficient = method == "nag" ? "0" : "1";
        write_run(scratch / fmt::format("{}-{}-{}", method, rate, seed),
                  {.method = method,
                   .seed = seed,
                   .more_config = fmt::format("lr = {}\ncoefficient = \"{}\"\nout = \"{}\"\n", rate,
                                              coefficient, seed)});
      }
    }
  }
  const auto runs = find_runs({scratch.path()});
  ASSERT_EQ(runs.size(), 8U);
  const Comparison comparison = arrange_runs(runs);
  ASSERT_EQ(comparison.axes.size(), 2U);
  EXPECT_EQ(comparison.axes[0].name, "lr");
  EXPECT_EQ(comparison.axes[0].labels, (std::vector<std::string>{"0.05", "0.1"}));
  EXPECT_EQ(comparison.columns().name, "method");
  ASSERT_EQ(comparison.cells.size(), 4U);
  for (const ComparedCell& cell : comparison.cells) EXPECT_EQ(cell.runs.size(), 2U);
  EXPECT_EQ(comparison.cells[0].labels, (std::vector<std::string>{"0.05", "bp-svrg"}));
}

TEST(Arrange, OneRunIsAComparisonToo) {
  const Scratch scratch;
  write_run(scratch / "a", {.method = "sam"});
  const Comparison comparison = arrange_runs(find_runs({scratch / "a"}));
  ASSERT_EQ(comparison.cells.size(), 1U);
  EXPECT_EQ(comparison.cells[0].labels, std::vector<std::string>{"sam"});
}

TEST(Arrange, ARunThatNamesNoKernelsHadLibtorchs) {
  const Scratch scratch;
  write_run(scratch / "a", {.seed = 1});
  write_run(scratch / "b", {.seed = 2, .more_config = "kernels = \"aten\"\n"});
  EXPECT_EQ(arrange_runs(find_runs({scratch.path()})).cells.size(), 1U);
  write_run(scratch / "c", {.seed = 1, .more_config = "kernels = \"fast\"\n"});
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  ASSERT_EQ(comparison.cells.size(), 2U);
  EXPECT_EQ(comparison.cells[0].labels, std::vector<std::string>{"aten"});
}

// A copied directory is no other seed.
TEST(Arrange, ACopyOfARunCountsOnce) {
  const Scratch scratch;
  write_run(scratch / "a", {.more_result = {{"weights_sha256", "11"}}});
  fs::copy(scratch / "a", scratch / "copy", fs::copy_options::recursive);
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  ASSERT_EQ(comparison.cells.size(), 1U);
  ASSERT_EQ(comparison.cells[0].runs.size(), 1U);
  EXPECT_EQ(comparison.cells[0].runs[0].id, "a");
  EXPECT_EQ(comparison.title, "1 run");
  EXPECT_THAT(comparison.notes,
              ElementsAre(AllOf(HasSubstr((scratch / "copy").string()), HasSubstr("counts once"))));
}

TEST(Arrange, TwoResultsOfOneConfigAndSeedAreAnError) {
  const Scratch scratch;
  write_run(scratch / "a", {.more_result = {{"weights_sha256", "11"}}});
  write_run(scratch / "b", {.more_result = {{"weights_sha256", "22"}}});
  expect_error([&] { arrange_runs(find_runs({scratch.path()})); },
               {"different results", (scratch / "a").string(), (scratch / "b").string()});
}

TEST(Arrange, OfTwoRunsWithOneConfigTheFinishedOneCounts) {
  const Scratch scratch;
  write_run(scratch / "a", {.status = "interrupted"});
  write_run(scratch / "b", {});
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  ASSERT_EQ(comparison.cells[0].runs.size(), 1U);
  EXPECT_EQ(comparison.cells[0].runs[0].id, "b");
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr((scratch / "a").string())));
}

TEST(Arrange, LeavesDamagedRunsOutAndNamesThem) {
  const Scratch scratch;
  for (const int64_t seed : {1, 2, 3, 4, 5}) write_run(scratch / fmt::format("{}", seed), {.seed = seed});
  append_bytes(scratch / "2" / "config.toml", "lr = 0.3\n");
  fs::remove(scratch / "3" / "metrics.jsonl");
  append_bytes(scratch / "4" / "status.json", "x");
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  ASSERT_EQ(comparison.cells.size(), 1U);
  EXPECT_EQ(comparison.cells[0].count_done(), 2U);
  EXPECT_EQ(comparison.cells[0].count_left_out(), 1U) << "what has a config has a place";
  EXPECT_THAT(comparison.notes, UnorderedElementsAre(HasSubstr("2/config.toml"), HasSubstr("3/metrics.jsonl"),
                                                     HasSubstr("4/status.json")));
  for (const char* whole : {"1", "5"}) fs::remove_all(scratch / whole);
  fs::remove_all(scratch / "3");
  expect_error([&] { arrange_runs(find_runs({scratch.path()})); },
               {"no run can be read", "2/config.toml", "4/status.json"});
}

TEST(Arrange, NamesARunThatHasLostItsStatusAndLeavesOneThatJustBeginsAlone) {
  const Scratch scratch;
  for (const int64_t seed : {1, 2, 3, 4}) write_run(scratch / fmt::format("{}", seed), {.seed = seed});
  for (const char* lost : {"2", "3", "4"}) fs::remove(scratch / lost / "status.json");
  // A diverged run may have weights and no records.
  fs::rename(scratch / "3" / "metrics.jsonl", scratch / "3" / "weights.pt");
  // config.toml and provenance.json come before the first status.
  fs::remove(scratch / "4" / "metrics.jsonl");
  ASSERT_TRUE(fs::exists(scratch / "4" / "config.toml") && fs::exists(scratch / "4" / "provenance.json"));
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  EXPECT_EQ(comparison.cells[0].count_done(), 1U);
  const auto note = [&](const char* run) {
    return fmt::format("left out, because it is damaged: {} (it is missing)",
                       (scratch / run / "status.json").string());
  };
  EXPECT_THAT(comparison.notes, ElementsAre(note("2"), note("3")));
}

TEST(Arrange, ADirectoryUnderSeveralNamesIsOneRun) {
  const Scratch scratch;
  write_run(scratch / "runs" / "b", {});
  fs::create_directory_symlink(scratch / "runs" / "b", scratch / "runs" / "a");
  const auto runs = find_runs({scratch / "runs", scratch / "runs" / ".." / "runs", scratch / "runs" / "a"});
  EXPECT_THAT(runs, ElementsAre(scratch / "runs" / "b"));
  EXPECT_TRUE(arrange_runs(runs).notes.empty());
}

TEST(Arrange, FoldersBehindLinksAreNotLookedInto) {
  const Scratch scratch;
  write_run(scratch / "here" / "a", {});
  write_run(scratch / "elsewhere" / "folder" / "b", {});
  fs::create_directory_symlink(scratch / "elsewhere", scratch / "here" / "linked");
  EXPECT_THAT(find_runs({scratch / "here"}), ElementsAre(scratch / "here" / "a"));
}

// Whichever comes first: a damaged copy neither stands in for the whole one nor goes unnamed.
TEST(Arrange, OfARunAndADamagedCopyTheWholeOneCounts) {
  for (const std::string damaged : {"a", "b"}) {
    const Scratch scratch;
    write_run(scratch / "a", {.more_result = {{"weights_sha256", "11"}}});
    fs::copy(scratch / "a", scratch / "b", fs::copy_options::recursive);
    append_bytes(scratch / damaged / "metrics.jsonl", "{}\n");
    Comparison comparison = arrange_runs(find_runs({scratch.path()}));
    read_runs(comparison);
    ASSERT_EQ(comparison.cells[0].runs.size(), 1U);
    EXPECT_EQ(comparison.cells[0].runs[0].id, damaged == "a" ? "b" : "a");
    EXPECT_EQ(comparison.cells[0].count_done(), 1U);
    EXPECT_THAT(comparison.notes, ElementsAre(AllOf(HasSubstr("left out, because it is damaged"),
                                                    HasSubstr(damaged + "/metrics.jsonl"))));
  }
}

TEST(Arrange, CutsLongValuesShort) {
  const Scratch scratch;
  const std::string long_text = "0.47336489342157123,0.4465";
  write_run(scratch / "a", {.more_config = fmt::format("normalize = \"{}/0.1\"\n", long_text)});
  write_run(scratch / "b", {.more_config = fmt::format("normalize = \"{}/0.2\"\n", long_text)});
  write_run(scratch / "c", {.more_config = "normalize = \"none\"\n"});
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  EXPECT_EQ(comparison.axes[0].labels, (std::vector<std::string>{".../0.1", ".../0.2", "none"}));
  EXPECT_EQ(comparison.cells.size(), 3U);
}

TEST(Arrange, LongLabelsShowWhereTheyDiffer) {
  const Scratch scratch;
  const auto labels_of = [&](const std::vector<std::string>& values) {
    std::filesystem::remove_all(scratch / "runs");
    for (size_t i = 0; i < values.size(); ++i)
      write_run(scratch / "runs" / std::to_string(i),
                {.more_config = fmt::format("init = \"{}\"\n", values[i])});
    return arrange_runs(find_runs({scratch / "runs"})).axes[0].labels;
  };
  EXPECT_THAT(
      labels_of({"/home/somebody/weights/experiment-a/w.pt", "/home/somebody/weights/experiment-b/w.pt"}),
      UnorderedElementsAre(".../experiment-a/w.pt", ".../experiment-b/w.pt"));
  EXPECT_THAT(labels_of({"/home/somebody/weights/experiment-a/w.pt", "w.pt"}),
              UnorderedElementsAre("/home/somebody/weight...", "w.pt"));
  // What would be the same once it is cut stays whole.
  const std::string deep = "/a/the-same-in-both-for-long/but-not-at-the-end/";
  EXPECT_THAT(labels_of({deep + "1.pt", deep + "2.pt", "/b/something-else-entirely/w.pt"}),
              UnorderedElementsAre(deep + "1.pt", deep + "2.pt", "/b/something-else-ent..."));
}

TEST(Arrange, RunsOfOneNameAreToldApartByTheirFolders) {
  const Scratch scratch;
  write_run(scratch / "first" / "run", {.seed = 1});
  write_run(scratch / "second" / "run", {.seed = 2});
  write_run(scratch / "second" / "other", {.seed = 3});
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  std::vector<std::string> ids;
  for (const ComparedRun& run : comparison.cells.at(0).runs) ids.push_back(run.id);
  EXPECT_THAT(ids, UnorderedElementsAre("first/run", "second/run", "other"));
}

TEST(Arrange, SaysWhereThereIsNoRun) {
  const Scratch scratch;
  expect_error([&] { find_runs({scratch.path()}); }, {"there is no run here"});
  expect_error([&] { find_runs({scratch / "nowhere"}); }, {"not a directory"});
}

TEST(Curves, OfDifferentRowsHaveDifferentNames) {
  Comparison comparison;
  comparison.options.curves = {"test_accuracy"};
  comparison.axes = {{"c", {"-3", "3", "+", "%"}}, {"method", {"nag"}}};
  const Scratch scratch;
  int place = 0;
  for (const std::string c : {"-3", "3", "+", "%"}) {
    const auto run = scratch / std::to_string(place++);
    write_run(run, {.test_accuracies = {10, 30}});
    comparison.cells.push_back({.labels = {c, "nag"}, .runs = {{.id = c, .directory = run}}});
  }
  read_runs(comparison);
  std::vector<std::string> names;
  for (const Panel& panel : make_panels(comparison)) names.push_back(panel.name);
  EXPECT_THAT(names, ::testing::ElementsAre("test_accuracy-3", "test_accuracy-3-2", "test_accuracy-row",
                                            "test_accuracy-row-2"));
}

TEST(Curves, AverageOverSeedsAtEachEpoch) {
  const Scratch scratch;
  write_run(scratch / "a", {.seed = 1, .test_accuracies = {10, 30}});
  write_run(scratch / "b", {.seed = 2, .test_accuracies = {20, 50}});
  write_run(scratch / "c", {.seed = 3, .status = "diverged", .test_accuracies = {99}});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  comparison.options.curves = {"test_accuracy"};
  read_runs(comparison);
  const auto panels = make_panels(comparison);
  ASSERT_EQ(panels.size(), 1U);
  const Curve& curve = panels[0].curves.at(0);
  EXPECT_EQ(curve.n, 2U);
  EXPECT_EQ(curve.diverged, 1U);
  EXPECT_EQ(curve.mean, (std::vector<double>{15, 40}));
  EXPECT_NEAR(curve.std[1], std::sqrt(200.0), 1e-12);
  EXPECT_EQ(curve.x.at("evaluations"), (std::vector<double>{40, 80}));
  EXPECT_EQ(curve.x.at("loss"), (std::vector<double>{2.7, 2.2}));
  EXPECT_EQ(curve.x.at("seconds"), (std::vector<double>{0.5, 1}));
}

// As long as some of them run.
TEST(Curves, HaveNoSpreadWhereOneSeedHasGotSoFar) {
  const Scratch scratch;
  write_run(scratch / "a", {.seed = 1, .test_accuracies = {10, 30, 40}});
  write_run(scratch / "b", {.seed = 2, .test_accuracies = {20}});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  comparison.options.curves = {"test_accuracy"};
  read_runs(comparison);
  const Curve curve = make_panels(comparison).at(0).curves.at(0);
  EXPECT_EQ(curve.counts, (std::vector<size_t>{2, 1, 1}));
  EXPECT_EQ(curve.mean, (std::vector<double>{15, 30, 40}));
  EXPECT_NEAR(curve.std[0], std::sqrt(50.0), 1e-12);
  EXPECT_TRUE(std::isnan(curve.std[1]) && std::isnan(curve.std[2]));
}

// Curves against the evaluated training loss have a point wherever it was measured.
TEST(Curves, KnowTheEvaluatedTrainingLossWhereItWasMeasured) {
  const Scratch scratch;
  write_run(scratch / "a", {.seed = 1, .test_accuracies = {10, 30}, .train_losses = {2, 1}});
  write_run(scratch / "b", {.seed = 2, .test_accuracies = {20, 50}, .train_losses = {1.5, 0.5}});
  const auto x_of_curve = [&] {
    Comparison comparison = arrange_runs(find_runs({scratch.path()}));
    comparison.options.curves = {"test_accuracy"};
    read_runs(comparison);
    return make_panels(comparison).at(0).curves.at(0).x;
  };
  EXPECT_EQ(x_of_curve().at("train-loss"), (std::vector<double>{1.75, 0.75}));
  write_run(scratch / "c", {.seed = 3, .test_accuracies = {20}});
  const auto with_gap = x_of_curve().at("train-loss");
  EXPECT_TRUE(std::isnan(with_gap[0])) << "one run of three did not measure it";
  EXPECT_EQ(with_gap[1], 0.75);
  std::filesystem::remove_all(scratch / "a");
  std::filesystem::remove_all(scratch / "b");
  EXPECT_FALSE(x_of_curve().contains("train-loss"));
}

TEST(Curves, MovingAverageKeepsTheEnds) {
  EXPECT_EQ(moving_average({0, 3, 6, 0, 12, 9}, 3), (std::vector<double>{0, 3, 3, 6, 7, 9}));
  EXPECT_EQ(moving_average({0, 3, 6, 0, 12}, 5), (std::vector<double>{0, 3, 4.2, 6, 12}));
  EXPECT_EQ(moving_average({1, 2}, 1), (std::vector<double>{1, 2}));
  EXPECT_TRUE(moving_average({}, 5).empty());
  const std::vector<double> with_gap = moving_average({0, NAN, 3, 6, NAN}, 3);
  EXPECT_TRUE(std::isnan(with_gap[1]) && std::isnan(with_gap[4]));
  EXPECT_EQ((std::vector<double>{with_gap[0], with_gap[2], with_gap[3]}), (std::vector<double>{0, 3, 6}));
}

// A sample's gradient depends on what BatchNorm normalises by: a norm without that is no number.
TEST(Comparison, SaysByWhichStatisticsANormWasMeasured) {
  const Scratch scratch;
  const auto write = [&](const std::string& name, const std::string& statistics) {
    write_run(scratch / name,
              {.seed = name.back(),
               .more_result = {{"mean_squared_gradient_norm", {{"value", 2.0}, {"batchnorm", statistics}}}}});
  };
  const auto label = [&](const std::string& quantity) {
    Comparison comparison = arrange_runs(find_runs({scratch.path()}));
    read_runs(comparison);
    return find_measured_quantity(comparison, quantity, "").label;
  };
  write("a", "eval");
  EXPECT_EQ(label("mean_squared_gradient_norm"), "E‖∇f_i‖² (evaluation statistics)");
  EXPECT_EQ(label("test_accuracy"), "test accuracy (%)");
  write("b", "batch");
  EXPECT_EQ(label("mean_squared_gradient_norm"), "E‖∇f_i‖² (batch statistics and evaluation statistics)");
}

TEST(MetricGaps, RankEveryRunThatMeasured) {
  const Scratch scratch;
  // The gap grows with the seed and the metric falls; one run measured nothing and one diverged.
  for (const int64_t seed : {1, 2, 3, 4}) {
    write_run(scratch / fmt::format("{}", seed),
              {.seed = seed,
               .more_result = {{"mean_squared_gradient_norm", {{"value", 10.0 / static_cast<double>(seed)}}},
                               {"train_loss", 1 - 0.1 * static_cast<double>(seed)},
                               {"loss_gap", {{"value", 7.0}}}}});
  }
  write_run(scratch / "5", {.seed = 5});
  write_run(scratch / "6", {.seed = 6, .status = "diverged"});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  const auto gaps = compare_metrics_with_gaps(comparison);
  ASSERT_EQ(gaps.size(), 2U) << "against both gaps";
  EXPECT_EQ(gaps[0].metric.name, "mean_squared_gradient_norm");
  EXPECT_EQ(gaps[0].gap.name, "loss_gap");
  EXPECT_EQ(gaps[0].points.size(), 4U);
  EXPECT_NEAR(gaps[0].correlation.tau.value(), -1, 1e-12);
  // Of all samples, as every run's last evaluation has it: not what was measured on some.
  EXPECT_NEAR(gaps[0].points[0].gap, 2 - 0.9, 1e-12);
  EXPECT_EQ(gaps[1].gap.name, "accuracy_gap");
  EXPECT_NEAR(gaps[1].points[0].gap, 10, 1e-12);
}

}  // namespace
}  // namespace batchplus
