#include "report/write_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/arrange.h"
#include "report/result_tables.h"
#include "support/expect_error.h"
#include "support/finished_run.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Scratch;
using testing::write_run;

/// Three methods over three seeds: nag clearly ahead of sgd, sam too close to nag to tell, one sgd diverged.
struct Methods {
  Scratch scratch;
  Comparison comparison;

  Methods() {
    const std::vector<double> noise = {0.0, 1.0, -1.0};
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const double shift = noise[static_cast<size_t>(seed - 1)];
      write("nag", seed, {.test_accuracies = {40, 62 + shift}});
      write("sam", seed, {.test_accuracies = {70, 61.5 - shift}});
      write("sgd", seed, {.status = seed == 3 ? "diverged" : "done", .test_accuracies = {30, 50 + shift}});
    }
    comparison = arrange_runs(find_runs({scratch / "runs"}));
    comparison.cells[0].published = {{"test_accuracy", {.mean = 61.25, .std = 0.5}},
                                     {"seconds", {.mean = 25}}};
    comparison.scale = "laptop";
    comparison.scale_note = "two of five seeds.";
  }
  void write(const std::string& method, int64_t seed, testing::FinishedRun run) {
    run.method = method;
    run.seed = seed;
    write_run(scratch / fmt::format("runs/{}-{}", method, seed), run);
  }
};

TEST(ResultTable, ShowsMeanSpreadCountAndThePapersNumber) {
  Methods methods;
  read_runs(methods.comparison);
  const Table table = result_table(methods.comparison, find_quantity("test_accuracy", ""), RunValue::kFinal);
  ASSERT_EQ(table.rows.size(), 1U);
  const auto& row = table.rows[0];
  ASSERT_EQ(row.size(), 3U);
  EXPECT_THAT(table.note, HasSubstr("Scale laptop: two of five seeds."));
  EXPECT_EQ(row[0].text, "62.00 ± 1.00 (3)");
  EXPECT_EQ(row[0].note, "paper 61.25 ± 0.50, +0.75");
  EXPECT_THAT(table.note, HasSubstr("how far our mean at the end of training is from it"));
  EXPECT_EQ(row[1].text, "61.50 ± 1.00 (3)");
  EXPECT_EQ(row[2].text, "50.50 ± 0.71 (2; 1 diverged)") << "what diverged is said";
  EXPECT_TRUE(row[0].is_bold);
  EXPECT_TRUE(row[1].is_bold) << "a paired test does not tell it from the best";
  EXPECT_FALSE(row[2].is_bold);
}

TEST(ResultTable, HasNoBestOfWhatIsNeitherGoodNorBad) {
  Methods methods;
  methods.write("sarah", 1, {.more_result = {{"lr", 0.1}, {"seconds", 2.0}}});
  methods.write("adam", 1, {.more_result = {{"lr", 0.2}, {"seconds", 3.0}}});
  Comparison comparison = arrange_runs({methods.scratch / "runs/sarah-1", methods.scratch / "runs/adam-1"});
  read_runs(comparison);
  const auto count_bold = [&](const char* quantity) {
    const Table table = result_table(comparison, find_quantity(quantity, ""), RunValue::kFinal);
    EXPECT_EQ(table.note.find("Bold") != std::string::npos, quantity != std::string("lr"));
    return std::count_if(table.rows.at(0).begin(), table.rows.at(0).end(),
                         [](const TableCell& cell) { return cell.is_bold; });
  };
  EXPECT_EQ(count_bold("lr"), 0);
  EXPECT_GT(count_bold("seconds"), 0);
}

TEST(ResultTable, BestIsTheBestEpochOfEachRun) {
  Methods methods;
  read_runs(methods.comparison);
  const Table table = result_table(methods.comparison, find_quantity("test_accuracy", ""), RunValue::kBest);
  EXPECT_EQ(table.rows[0][1].text, "70.00 ± 0.00 (3)");
}

// A paper's "best" may be either: both are held against its number, and each table says which it is.
TEST(ResultTable, HoldsTheBestEpochsAgainstThePapersNumberToo) {
  Methods methods;
  methods.write("nag", 4, {.test_accuracies = {66, 62}});
  methods.comparison.cells[0].runs.push_back(
      {.id = "nag-4", .seed = 4, .directory = methods.scratch / "runs/nag-4"});
  read_runs(methods.comparison);
  const Table best = result_table(methods.comparison, find_quantity("test_accuracy", ""), RunValue::kBest);
  // 62, 63, 61 and 66.
  EXPECT_THAT(best.rows[0][0].note, ::testing::StartsWith("paper 61.25 ± 0.50, +1.75"));
  EXPECT_THAT(best.note, HasSubstr("how far our mean of the best epochs is from it"));
}

// By the seconds since the beginning it would be the first epoch.
TEST(ResultTable, WhatGrowsWithTheEpochsHasNoBestOne) {
  Methods methods;
  methods.comparison.options.tables = {"seconds"};
  const WrittenReport report =
      write_report(methods.comparison, methods.scratch / "out", /*has_figures=*/false);
  EXPECT_THAT(report.json["tables"].dump(), Not(HasSubstr("best_seconds")));
  const Table cells = cell_table(report.comparison, find_quantity("seconds", ""));
  const auto best = std::find(cells.header.begin(), cells.header.end(), "best") - cells.header.begin();
  for (const auto& row : cells.rows) EXPECT_EQ(row[static_cast<size_t>(best)].text, "-");
  for (const char* name : {"seconds", "gradient_evaluations", "lr"}) {
    for (const ComparedRun& run : report.comparison.cells[0].runs)
      EXPECT_FALSE(best_value(*run.record, find_quantity(name, ""))) << name;
  }
}

TEST(ResultTable, HoldsSecondsAgainstThePapersRunningTime) {
  Methods methods;
  read_runs(methods.comparison);
  const Table table = result_table(methods.comparison, find_quantity("seconds", ""), RunValue::kFinal);
  EXPECT_EQ(table.rows[0][0].text, "1.0 ± 0.0 (3)");
  EXPECT_EQ(table.rows[0][0].note, "paper 25.0, -24.0");
  EXPECT_EQ(table.rows[0][1].note, "") << "the paper has no such number";
}

TEST(ResultTable, SaysWhenEveryRunDivergedOrNoneIsThere) {
  const Scratch scratch;
  write_run(scratch / "a", {.method = "sgd", .status = "diverged"});
  write_run(scratch / "b", {.method = "nag"});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  comparison.cells[0].runs[0].directory = scratch / "gone";
  read_runs(comparison);
  const Table table = result_table(comparison, find_quantity("test_accuracy", ""), RunValue::kFinal);
  EXPECT_EQ(table.rows[0][0].text, "none of 1");
  EXPECT_EQ(table.rows[0][0].style, "missing");
  EXPECT_EQ(table.rows[0][1].text, "diverged (1)");
}

TEST(ResultTable, EqualMeansAreEquallyGoodAndALoneOneIsNone) {
  const Scratch scratch;
  write_run(scratch / "a", {.method = "nag"});
  write_run(scratch / "b", {.method = "sgd"});
  write_run(scratch / "c", {.method = "nag", .more_config = "model = \"vgg11\"\n"});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  const Table table = result_table(comparison, find_quantity("test_accuracy", ""), RunValue::kFinal);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_TRUE(table.rows[0][1].is_bold && table.rows[0][2].is_bold) << "mlp: both have 50";
  EXPECT_FALSE(table.rows[1][1].is_bold) << "vgg11: nothing to be better than";
}

TEST(ResultTable, WhatNoTestTellsApartIsEquallyBold) {
  const Scratch scratch;
  write_run(scratch / "a", {.method = "nag", .test_accuracies = {60}});
  write_run(scratch / "b", {.method = "sgd", .test_accuracies = {50}});
  write_run(scratch / "c", {.method = "sam", .status = "diverged"});
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  const Table table = result_table(comparison, find_quantity("test_accuracy", ""), RunValue::kFinal);
  EXPECT_TRUE(table.rows[0][0].is_bold);
  EXPECT_FALSE(table.rows[0][1].is_bold) << "sam: diverged";
  EXPECT_TRUE(table.rows[0][2].is_bold) << "one seed tells nothing apart";
}

// Two seeds that differ by the same have no spread, from which a t test would conclude anything.
TEST(PairedTable, EqualDifferencesHaveNoTest) {
  const Scratch scratch;
  for (const int64_t seed : {1, 2}) {
    const auto shift = static_cast<double>(seed);
    write_run(scratch / fmt::format("nag{}", seed),
              {.method = "nag", .seed = seed, .test_accuracies = {57 + shift}});
    write_run(scratch / fmt::format("sgd{}", seed),
              {.method = "sgd", .seed = seed, .test_accuracies = {50 + shift}});
  }
  Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  read_runs(comparison);
  const Table table = paired_table(comparison, find_quantity("test_accuracy", ""));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][1].text, "+7.00");
  EXPECT_EQ(table.rows[0][2].text, "no spread");
  EXPECT_EQ(table.rows[0][4].text, "-");
  EXPECT_EQ(table.rows[0][5].text, "-");
}

TEST(PairedTable, PairsSharedSeeds) {
  Methods methods;
  read_runs(methods.comparison);
  const Table table = paired_table(methods.comparison, find_quantity("test_accuracy", ""));
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0][0].text, "nag − sam");
  EXPECT_EQ(table.rows[0][1].text, "+0.50");
  EXPECT_EQ(table.rows[0][3].text, "3");
  // Seeds 1 and 2: 62 - 50 and 63 - 51.
  EXPECT_EQ(table.rows[1][0].text, "nag − sgd");
  EXPECT_EQ(table.rows[1][1].text, "+12.00");
  EXPECT_EQ(table.rows[1][3].text, "2");
}

TEST(Table, IsWrittenInEveryFormat) {
  Table table{
      .name = "t",
      .title = "A_title",
      .header = {"network & co", "x|y"},
      .label_columns = 1,
      .rows = {{{.text = "<b>"}, {.text = "1 ± 2", .is_bold = true, .note = "paper 3", .anchor = "cell-0"}}},
      .note = "50 %"};
  EXPECT_EQ(to_text(table),
            "A_title\n\n"
            "network & co      x|y\n"
            "---------------------\n"
            "<b>            *1 ± 2\n"
            "              paper 3\n"
            "\n50 %\n");
  EXPECT_THAT(to_markdown(table, "index.html"),
              HasSubstr("| network &amp; co | x\\|y |\n| --- | ---: |\n| &lt;b> | **[1 ± "
                        "2](index.html#cell-0)**<br>paper 3 |"));
  const std::string latex = to_latex(table);
  EXPECT_THAT(
      latex,
      HasSubstr("\\begin{tabular}{lr}\n\\toprule\n  network \\& co & x\\textbar{}y \\\\\n\\midrule\n"));
  EXPECT_THAT(latex, HasSubstr("\\textbf{1 $\\pm$ 2}"));
  EXPECT_THAT(latex, HasSubstr("\\caption{A\\_title. 50 \\%}"));
  EXPECT_EQ(to_csv(table), "network & co,x|y\n<b>,1 ± 2\n");
  EXPECT_THAT(to_html(table),
              HasSubstr("<th>&lt;b&gt;</th><td class=\"number best\"><a href=\"#cell-0\">1 ± 2</a>"));
}

TEST(Report, FiguresNameTheWindowOfAMovingAverage) {
  Methods methods;
  methods.comparison.options.curves = {"test_accuracy"};
  methods.comparison.options.smooth = 3;
  const fs::path figures = methods.scratch / "out" / "figures";
  write_report(methods.comparison, methods.scratch / "out");
  for (const char* file : {"test_accuracy.gp", "test_accuracy.svg", "test_accuracy.tsv"})
    EXPECT_THAT(read_file(figures / file), HasSubstr("moving average over 3 points")) << file;
  methods.comparison.options.smooth = 1;
  write_report(methods.comparison, methods.scratch / "out");
  EXPECT_THAT(read_file(figures / "test_accuracy.gp"), Not(HasSubstr("moving average")));
}

TEST(Report, WritesTablesFiguresAndAPage) {
  Methods methods;
  methods.comparison.title = "</script><b>methods";
  const fs::path out = methods.scratch / "out";
  const WrittenReport report = write_report(methods.comparison, out);
  EXPECT_EQ(report.json["runs"], "8 of 9 done, 1 diverged");
  for (const char* table :
       {"test_accuracy", "best_test_accuracy", "test_accuracy_paired", "test_accuracy_cells"}) {
    for (const char* ending : {".txt", ".md", ".tex", ".csv"}) {
      EXPECT_TRUE(fs::exists(out / "tables" / (std::string(table) + ending))) << table << ending;
    }
  }
  const std::map<std::string, std::string> magic = {{".svg", "<?xml"}, {".png", "\x89PNG"}, {".pdf", "%PDF"}};
  for (const char* figure : {"figure", "test_accuracy", "test_loss"}) {
    for (const auto& [ending, start] : magic) {
      const std::string bytes = read_file(out / "figures" / (figure + ending));
      EXPECT_TRUE(bytes.starts_with(start)) << figure << ending;
    }
  }
  const std::string page = read_file(out / "index.html");
  EXPECT_THAT(page, HasSubstr("<h1>&lt;/script&gt;&lt;b&gt;methods</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, HasSubstr("href=\"../runs/nag-1/\""));
  EXPECT_THAT(page, HasSubstr("method = &quot;nag&quot;"));
  // Numbers that other programs read: labels, then n, diverged, missing, mean.
  const auto lines = split(read_file(out / "tables" / "cells-test_accuracy.csv"), '\n');
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[1].starts_with("nag,,3,0,0,62,1,")) << lines[1];
  EXPECT_TRUE(lines[3].starts_with("sgd,,2,1,0,50.5,")) << lines[3];
}

TEST(Report, SaysTheStatisticsOfNormsInTablesFiguresAndPage) {
  const Scratch scratch;
  for (const char* method : {"nag", "sgd"}) {
    write_run(scratch / "runs" / method,
              {.method = method,
               .more_result = {{"squared_full_gradient_norm", {{"value", 2.0}, {"batchnorm", "eval"}}}}});
  }
  Comparison comparison = arrange_runs(find_runs({scratch / "runs"}));
  comparison.options.tables = {"test_accuracy", "squared_full_gradient_norm"};
  write_report(comparison, scratch / "out");
  const std::string label = "‖∇F‖² (evaluation statistics)";
  for (const char* file : {"tables/squared_full_gradient_norm.txt", "tables/squared_full_gradient_norm.md",
                           "figures/squared_full_gradient_norm-loss_gap.gp", "index.html", "report.md"}) {
    EXPECT_THAT(read_file(scratch / "out" / file), HasSubstr(label)) << file;
  }
}

// A mean over other data, or from other initial weights, is the mean of nothing.
TEST(Report, NamesRunsThatWereGivenSomethingElse) {
  const Scratch scratch;
  const std::string init = "init = \"w.pt\"\n";
  write_run(scratch / "runs/1", {.seed = 1, .more_config = init, .inputs = {{"test", "t"}, {"init", "a"}}});
  write_run(scratch / "runs/2", {.seed = 2, .more_config = init, .inputs = {{"test", "t"}, {"init", "b"}}});
  write_run(scratch / "runs/3", {.seed = 3, .more_config = init, .inputs = {{"test", "u"}, {"init", "a"}}});
  write_run(scratch / "runs/4", {.seed = 4, .more_config = init});
  write_run(scratch / "runs/5", {.seed = 1, .more_config = "test_limit = 10\n", .inputs = {{"test", "v"}}});
  const WrittenReport report =
      write_report(arrange_runs(find_runs({scratch / "runs"})), scratch / "report", false);
  for (const auto& cell : report.comparison.cells) EXPECT_EQ(cell.runs.size(), 1U) << "no mean over them";
  EXPECT_THAT(report.comparison.notes,
              ::testing::UnorderedElementsAre(
                  HasSubstr("also differ in init"),
                  ::testing::AllOf(HasSubstr("other initial weights (w.pt)"), ::testing::EndsWith("runs/2")),
                  ::testing::AllOf(HasSubstr("other test data (cifar10)"), ::testing::EndsWith("runs/3"))));
}

// The grid of a sweep is what its spec says: what does not belong to the others of its row is left out.
TEST(Report, OfASweepComparesNoRunsThatWereGivenSomethingElse) {
  const Scratch scratch;
  Comparison comparison{.name = "t", .title = "t"};
  comparison.axes = {{"method", {"sgd", "nag"}}};
  for (const char* method : {"sgd", "nag"}) {
    ComparedCell cell{.labels = {method}};
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const std::filesystem::path directory = scratch / "runs" / fmt::format("{}-{}", method, seed);
      const bool is_other = std::string(method) == "sgd" && seed == 1;
      write_run(directory, {.method = method,
                            .seed = seed,
                            .test_accuracies = {is_other ? 90.0 : 50.0 + static_cast<double>(seed)},
                            .inputs = {{"test", is_other ? "a" : "b"}}});
      cell.runs.push_back({.id = directory.filename(), .seed = seed, .directory = directory});
    }
    comparison.cells.push_back(cell);
  }
  const WrittenReport report = write_report(comparison, scratch / "report", false);
  EXPECT_EQ(report.json["cells"][0]["test_accuracy"]["mean"], 52.5);
  EXPECT_EQ(report.json["cells"][0]["missing"], 1);
  EXPECT_EQ(report.json["cells"][1]["test_accuracy"]["mean"], 52.0);
  EXPECT_THAT(report.comparison.notes,
              ::testing::ElementsAre(::testing::AllOf(
                  HasSubstr("left out, because it had other test data (cifar10) than"), HasSubstr("sgd-1"))));
}

/// A run whose gap, 0.5 at its end, was measured as `gap` on so many samples.
testing::FinishedRun measured_run(int64_t seed, const std::string& method, double gap, int64_t samples) {
  return {.method = method,
          .seed = seed,
          .more_result = {{"test_loss", 1.5},
                          {"train_loss", 1.0},
                          {"loss_gap", {{"value", gap}, {"samples", samples}}},
                          {"squared_full_gradient_norm", {{"value", 2.0}, {"samples", samples}}}}};
}

TEST(Report, SaysWhenNumbersComeFromOtherSamples) {
  const Scratch scratch;
  const auto notes_of = [&](const std::string& runs, const std::vector<std::string>& tables) {
    Comparison comparison = arrange_runs(find_runs({scratch / runs}));
    comparison.options.tables = tables;
    comparison.options.curves = {};
    return write_report(comparison, scratch / (runs + "-report"), /*has_figures=*/false).comparison.notes;
  };
  using ::testing::ElementsAre;
  write_run(scratch / "all/a", measured_run(1, "nag", 0.5, 300));
  write_run(scratch / "all/b", measured_run(1, "sgd", 0.5, 300));
  EXPECT_THAT(notes_of("all", {"loss_gap", "squared_full_gradient_norm"}), ElementsAre());
  write_run(scratch / "few/a", measured_run(1, "nag", 0.6, 15));
  EXPECT_THAT(notes_of("few", {"loss_gap"}),
              ElementsAre(HasSubstr("loss gap at the end of training is over all training samples; before")));
  write_run(scratch / "few/b", measured_run(1, "sgd", 0.5, 300));
  EXPECT_THAT(notes_of("few", {"squared_full_gradient_norm"}),
              ElementsAre(HasSubstr("was measured on 15, 300 samples")));
}

TEST(Report, NeedsAPlaceThatIsItsOwn) {
  Methods methods;
  const fs::path other = methods.scratch / "paper";
  fs::create_directories(other / "figures");
  write_file_atomically(other / "figures" / "mine.svg", "<svg/>");
  expect_error([&] { write_report(methods.comparison, other); }, {"not a report", "figures"});
  // A page that was copied there makes it no report.
  write_report(methods.comparison, methods.scratch / "out", /*has_figures=*/false);
  fs::copy_file(methods.scratch / "out" / "index.html", other / "index.html");
  expect_error([&] { write_report(methods.comparison, other); }, {"not a report"});
  EXPECT_EQ(read_file(other / "figures" / "mine.svg"), "<svg/>");
}

TEST(Report, EscapesItsTitleInMarkdown) {
  Methods methods;
  methods.comparison.title = "a_b *c* <img src=x> [link](y) `z` & more";
  methods.comparison.notes = {"run_1 is <b>"};
  write_report(methods.comparison, methods.scratch / "out", /*has_figures=*/false);
  const std::string text = read_file(methods.scratch / "out" / "report.md");
  EXPECT_TRUE(text.starts_with("# a\\_b \\*c\\* &lt;img src=x> \\[link\\](y) \\`z\\` &amp; more\n"))
      << text.substr(0, 80);
  EXPECT_THAT(text, HasSubstr("Note: run\\_1 is &lt;b>."));
}

TEST(Report, NeedsAFinishedRunAndKnownQuantities) {
  const Scratch scratch;
  write_run(scratch / "a", {.status = "running"});
  const Comparison comparison = arrange_runs(find_runs({scratch.path()}));
  expect_error([&] { write_report(comparison, scratch / "out"); }, {"no run has finished"});
  EXPECT_FALSE(fs::exists(scratch / "out"));
  Comparison misspelt = comparison;
  misspelt.options.tables = {"test_acuracy"};
  expect_error([&] { write_report(misspelt, scratch / "out"); }, {"did you mean 'test_accuracy'?"});
}

// The figures of the page and those that gnuplot draws have the same colours.
TEST(Report, DrawsWithTheColoursOfThePage) {
  const std::string style = read_file(fs::path(BATCHPLUS_SOURCE_DIR) / "src/report/page/style.css");
  const std::string figures = read_file(fs::path(BATCHPLUS_SOURCE_DIR) / "src/report/figures.cpp");
  for (int i = 0; i < 10; ++i) {
    const size_t at = style.find(fmt::format("--series-{}: #", i));
    ASSERT_NE(at, std::string::npos);
    const std::string colour = style.substr(style.find('#', at), 7);
    EXPECT_THAT(figures, HasSubstr(colour));
  }
}

}  // namespace
}  // namespace batchplus
