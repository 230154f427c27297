#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "sweep/plan.h"

namespace batchplus {
namespace {

/// Every spec of the paper at every scale: it parses, its budgets are equal, its published cells are cells.
TEST(PaperSpecs, AreCompleteAtEveryScale) {
  const std::map<std::string, size_t> runs_at_paper_scale = {
      {"table1", 5 * 4 * 3},
      {"table2", 3 * 4 * 3},
      // BP-SVRG and B-SVRG at two learning rates, NAG at one; 5 repeats on CIFAR, 4 on SVHN.
      {"table3", (13 * 5 + 6 * 4) * 5},
      {"table4", 2 * 2 * 5},
      {"figure1", 7 * 3},
      {"figure2", 5 * 5 * 5},
      {"figure3", (13 * 5 + 6 * 4) * 5},
      {"figure4", (5 + 3) * 3}};
  const std::map<std::string, size_t> published = {
      {"table1", 20}, {"table2", 12}, {"table3", 57}, {"table4", 4}};
  for (const auto& [name, expected] : runs_at_paper_scale) {
    const Spec spec =
        read_spec(std::filesystem::path(BATCHPLUS_SOURCE_DIR) / "specs/paper" / (name + ".toml"));
    for (const char* scale : {"paper", "workstation", "laptop", "smoke"}) {
      const auto planned = plan_sweep(spec, scale);
      if (std::string(scale) == "paper") {
        EXPECT_EQ(planned.size(), expected) << name;
      }
    }
    if (published.contains(name)) {
      EXPECT_EQ(spec.published.at("test_accuracy").size(), published.at(name)) << name;
    }
  }
}

TEST(PaperSpecs, Table3HasThePapersSettings) {
  const auto runs = expand(read_spec(BATCHPLUS_SOURCE_DIR "/specs/paper/table3.toml"), "paper");
  std::set<std::pair<std::string, std::string>> rows;
  for (const SpecRun& run : runs) {
    rows.emplace(run.cell.at("dataset"), run.cell.at("network"));
    const bool is_dense = run.cell.at("network").starts_with("DenseNet");
    const bool is_svhn = run.cell.at("dataset") == "SVHN";
    const bool is_nag = run.config.method == "nag";
    EXPECT_EQ(run.config.inner_batch, is_dense && !is_svhn ? 64 : 128);
    EXPECT_EQ(run.config.weight_decay, is_svhn || is_dense ? 1e-4 : 5e-4);
    EXPECT_EQ(run.config.schedule, is_svhn || is_dense ? "step:0.5,0.75/10" : "step:0.4,0.6,0.8/10");
    const int64_t epochs = is_svhn ? 40 : is_dense ? 200 : 250;
    EXPECT_EQ(run.config.epochs, is_nag ? epochs * 3 / 2 : epochs);
    EXPECT_TRUE(is_nag ? run.config.lr == 0.1 : run.config.lr == 0.5 || run.config.lr == 1.0);
    EXPECT_LE(run.config.seed, is_svhn ? 4 : 5);
  }
  EXPECT_EQ(rows.size(), 19);
}

// The appendix: 5e-4 for all networks but DenseNet on CIFAR and those on SVHN; and the caption of every
// figure.
TEST(PaperSpecs, HaveThePapersWeightDecayAndMovingAverage) {
  for (const char* name : {"table1", "table2", "table4", "figure1", "figure4"}) {
    const Spec spec = read_spec(fmt::format("{}/specs/paper/{}.toml", BATCHPLUS_SOURCE_DIR, name));
    for (const SpecRun& run : expand(spec, "paper")) EXPECT_EQ(run.config.weight_decay, 5e-4) << name;
  }
  for (const char* name : {"figure1", "figure2", "figure3", "figure4"}) {
    const Spec spec = read_spec(fmt::format("{}/specs/paper/{}.toml", BATCHPLUS_SOURCE_DIR, name));
    EXPECT_EQ(spec.report.smooth, 5) << name;
  }
}

// The five methods of figure 1, at 1.5 N epochs where a step takes one gradient.
TEST(PaperSpecs, Figure4HasTheMethodsOfFigure1OnVgg) {
  std::map<std::string, int64_t> epochs;
  for (const SpecRun& run : expand(read_spec(BATCHPLUS_SOURCE_DIR "/specs/paper/figure4.toml"), "paper")) {
    if (run.cell.at("network") == "VGG11") epochs[run.config.method] = run.config.epochs.value();
  }
  const std::map<std::string, int64_t> expected = {
      {"sgd", 375}, {"momentum", 375}, {"nag", 375}, {"b-svrg", 250}, {"bp-svrg", 250}};
  EXPECT_EQ(epochs, expected);
}

TEST(PaperSpecs, Table1HasThePapersRunningTimes) {
  const std::map<std::string, std::vector<double>> hours = {{"10", {7.13, 7.18, 7.06, 6.98}},
                                                            {"50", {2.21, 2.20, 2.20, 2.15}},
                                                            {"100", {1.63, 1.63, 1.64, 1.63}},
                                                            {"500", {1.39, 1.39, 1.39, 1.39}},
                                                            {"1000", {1.37, 1.37, 1.37, 1.37}}};
  const Spec spec = read_spec(BATCHPLUS_SOURCE_DIR "/specs/paper/table1.toml");
  const PublishedCells& seconds = spec.published.at("seconds");
  EXPECT_EQ(seconds.size(), 20);
  const std::vector<std::string> outer = {"50000", "10000", "5000", "1000"};
  for (const auto& [inner, row] : hours) {
    for (size_t i = 0; i < outer.size(); ++i) {
      // A hundredth of an hour is 36 seconds; 1e-6 is for its rounding in binary.
      EXPECT_NEAR(seconds.at({inner, outer[i]}).mean, 3600 * row[i], 1e-6) << inner << "/" << outer[i];
    }
  }
  EXPECT_EQ(spec.report.tables, (std::vector<std::string>{"test_accuracy", "seconds"}));
}

}  // namespace
}  // namespace batchplus
