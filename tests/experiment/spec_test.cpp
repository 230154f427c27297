#include "experiment/spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "experiment/sweep_plan.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

/// Two methods on two networks, with everything that a spec may have.
const std::string kSpec = R"(title = "example"
equal_budget = "method"

[base]
dataset = "synthetic"
epochs = 10
inner_batch = 32
repeats = 3

[[axis]]
name = "network"
  [[axis.value]]
  label = "two-layer"
  model = "mlp"
  [[axis.value]]
  label = "small"
  model = "smallcnn"

[[axis]]
name = "method"
  [[axis.value]]
  label = "BP-SVRG"
  method = "bp-svrg"
  [[axis.value]]
  label = "NAG"
  method = "nag"
  lr = 0.1
  epochs_times = 1.5

[choose]
key = "lr"
values = [0.5, 1.0]
when = { method = "BP-SVRG" }
by = "test_accuracy"

[[override]]
when = { network = "small" }
epochs = 20
weight_decay = 1e-4

[published]
"small/NAG" = [90.0, 0.5]

[scale.paper]

[scale.smoke]
epochs_times = 0.1
repeats = 1
train_limit = 320
only = { network = "small" }
)";

std::string with(const std::string& what, const std::string& by) {
  std::string text = kSpec;
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Spec, ExpandsTheGridWithOverridesChoicesAndSeeds) {
  const auto runs = expand(parse_spec(kSpec, "s.toml"), "paper");
  // Two networks; BP-SVRG at two rates and NAG at one; three seeds.
  ASSERT_EQ(runs.size(), 2 * 3 * 3);
  std::set<std::string> ids;
  for (const SpecRun& run : runs) {
    ids.insert(run.id);
    const bool is_small = run.cell.at("network") == "small";
    const bool is_nag = run.cell.at("method") == "NAG";
    EXPECT_EQ(run.config.model, is_small ? "smallcnn" : "mlp");
    EXPECT_EQ(run.config.epochs, (is_small ? 20 : 10) * (is_nag ? 3 : 2) / 2);
    EXPECT_EQ(run.config.weight_decay, is_small ? 1e-4 : 0);
    EXPECT_EQ(run.choice.empty(), is_nag);
    EXPECT_EQ(run.config.lr, is_nag                                                  ? 0.1
                             : parse_spec(kSpec, "").choice->values[0] == run.choice ? 0.5
                                                                                     : 1.0);
  }
  EXPECT_EQ(ids.size(), runs.size()) << "different configs have different ids";
  EXPECT_EQ(runs[0].config.seed, 1);
  EXPECT_EQ(runs[2].config.seed, 3);
}

TEST(Spec, ScalesChangeEpochsSamplesAndRepeatsAlone) {
  const auto runs = expand(parse_spec(kSpec, "s.toml"), "smoke");
  ASSERT_EQ(runs.size(), 3);
  for (const SpecRun& run : runs) {
    EXPECT_EQ(run.cell.at("network"), "small");
    EXPECT_EQ(run.config.train_limit, 320);
    EXPECT_EQ(run.config.epochs, run.cell.at("method") == "NAG" ? 3 : 2);
    EXPECT_EQ(run.config.inner_batch, 32);
    EXPECT_EQ(run.config.weight_decay, 1e-4);
  }
}

TEST(Spec, AScaleMayKeepSeveralPartsOfTheGrid) {
  const std::string parts =
      R"(only = [{ network = "small", method = "NAG" }, { network = "two-layer", method = "BP-SVRG" }])";
  const auto runs = expand(parse_spec(with("only = { network = \"small\" }", parts), "s.toml"), "smoke");
  std::set<std::pair<std::string, std::string>> cells;
  for (const SpecRun& run : runs) cells.emplace(run.cell.at("network"), run.cell.at("method"));
  EXPECT_EQ(cells,
            (std::set<std::pair<std::string, std::string>>{{"small", "NAG"}, {"two-layer", "BP-SVRG"}}));
  expect_error([] { parse_spec(with("only = { network = \"small\" }", "only = [\"small\"]"), "s.toml"); },
               {"wrong type", "only"});
}

TEST(Spec, IdDependsOnWhatIsComputedAlone) {
  RunConfig config;
  const std::string id = config_id(config);
  config.data_dir = "/elsewhere";
  config.out = "runs/x";
  EXPECT_EQ(config_id(config), id);
  config.lr = 0.2;
  EXPECT_NE(config_id(config), id);
  config = {};
  config.kernels = "direct";
  EXPECT_NE(config_id(config), id);
}

TEST(Spec, NamesLineColumnAndTheNearestKey) {
  expect_error([] { parse_spec(with("repeats = 3", "repaets = 3"), "s.toml"); },
               {"unknown key", "s.toml:8:1", "did you mean 'repeats'?"});
  expect_error([] { parse_spec(with("[choose]", "[chose]"), "s.toml"); },
               {"unknown key", "did you mean 'choose'?"});
  expect_error([] { parse_spec(with("inner_batch = 32", "inner_batch = \"many\""), "s.toml"); },
               {"s.toml:7:", "inner_batch", "many"});
  expect_error([] { parse_spec(with("lr = 0.1", "lr = [0.1]"), "s.toml"); }, {"wrong type", "lr"});
  expect_error([] { parse_spec(with("train_limit = 320", "weight_decay = 0.1"), "s.toml"); },
               {"unknown key", "weight_decay"});
  expect_error([] { parse_spec("title = \n", "s.toml"); }, {"not valid TOML", "s.toml:1"});
  expect_error([] { parse_spec("", "s.toml"); }, {"missing", "title"});
}

TEST(Spec, RefusesWhatContradictsItself) {
  expect_error([] { parse_spec("title = \"t\"\n[[axis]]\nname = \"a\"\n", "s.toml"); },
               {"without values", "s.toml:2:1"});
  expect_error([] { parse_spec(with("  lr = 0.1", "  model = \"vgg11\""), "s.toml"); },
               {"two axes set one key", "'network' and 'method'"});
  expect_error([] { parse_spec(with("label = \"small\"", "label = \"two-layer\""), "s.toml"); },
               {"same label"});
  expect_error(
      [] { parse_spec(with("when = { network = \"small\" }", "when = { network = \"smal\" }"), "s.toml"); },
      {"no such label", "did you mean 'small'?"});
  expect_error([] { parse_spec(with("\"small/NAG\"", "\"small/SGD\""), "s.toml"); },
               {"not a cell", "network/method"});
  expect_error([] { expand(parse_spec(kSpec, "s.toml"), "laptop"); },
               {"unknown scale of this spec", "laptop", "paper"});
  // 1 against 1 epochs instead of 1 against 1.5.
  expect_error(
      [] { plan_sweep(parse_spec(with("epochs_times = 1.5", "epochs_times = 1"), "s.toml"), "paper"); },
      {"budgets that should be equal are not", "BP-SVRG", "NAG"});
}

TEST(Spec, AChoiceNeedsDataToChooseByAndOneCellThatDecides) {
  expect_error([] { expand(parse_spec(with("by = \"test_accuracy\"", ""), "s.toml"), "paper"); },
               {"no validation data", "lr"});
  const auto runs = expand(parse_spec(with("by = \"test_accuracy\"\n\n[[override]]",
                                           "[[override]]\nvalidation = 100\n[[override]]"),
                                      "s.toml"),
                           "paper");
  EXPECT_EQ(runs[0].config.validation, 100);
  expect_error(
      [] { parse_spec(with("by = \"test_accuracy\"", "same_for = { network = \"small\" }"), "s.toml"); },
      {"which cell decides", "network"});
}

TEST(Spec, HasPublishedNumbersOfTheAccuracyAndOfOtherQuantities) {
  const Spec spec = parse_spec(kSpec + "[published.seconds]\n\"small/BP-SVRG\" = 25668\n", "s.toml");
  const PublishedValue accuracy = spec.published.at("test_accuracy").at({"small", "NAG"});
  EXPECT_EQ(accuracy.mean, 90.0);
  EXPECT_EQ(accuracy.std, 0.5);
  const PublishedValue seconds = spec.published.at("seconds").at({"small", "BP-SVRG"});
  EXPECT_EQ(seconds.mean, 25668);
  EXPECT_FALSE(seconds.std.has_value());
  expect_error([] { parse_spec(kSpec + "[published.seconds]\n\"small/SGD\" = 1\n", "s.toml"); },
               {"not a cell", "network/method"});
}

TEST(Spec, SaysWhatItsReportShows) {
  const Spec spec =
      parse_spec(kSpec + "[report]\ncurves = [\"loss_gap\"]\nx = \"seconds\"\nsmooth = 5\n", "s.toml");
  EXPECT_EQ(spec.report.curves, std::vector<std::string>{"loss_gap"});
  EXPECT_EQ(spec.report.tables, std::vector<std::string>{"test_accuracy"});
  EXPECT_EQ(spec.report.x, "seconds");
  EXPECT_EQ(spec.report.smooth, 5);
  expect_error([] { parse_spec(kSpec + "[report]\nx = \"second\"\n", "s.toml"); },
               {"did you mean 'seconds'?"});
  expect_error([] { parse_spec(kSpec + "[report]\ncurve = []\n", "s.toml"); }, {"did you mean 'curves'?"});
  expect_error([] { parse_spec(kSpec + "[report]\ncurves = 3\n", "s.toml"); }, {"wrong type", "curves"});
  expect_error([] { parse_spec(kSpec + "[report]\nsmooth = 0\n", "s.toml"); }, {"one or more"});
}

// A spec may come from anywhere: it does not say where to write.
TEST(Spec, NamesNoPlaces) {
  for (const char* key : {"out", "save_weights", "data_dir"}) {
    expect_error([&] { parse_spec(with("lr = 0.1", std::string(key) + " = \"/elsewhere\""), "s.toml"); },
                 {"unknown key", key});
    Spec spec = parse_spec(kSpec, "s.toml");
    expect_error([&] { set_everywhere(spec, std::string(key) + "=/elsewhere"); }, {"unknown key", key});
  }
}

TEST(Spec, KeysCanBeSetForEveryRun) {
  Spec spec = parse_spec(kSpec, "s.toml");
  set_everywhere(spec, "weight_decay=0.5");
  for (const SpecRun& run : expand(spec, "paper")) EXPECT_EQ(run.config.weight_decay, 0.5);
  set_everywhere(spec, "repeats=1");
  EXPECT_EQ(expand(spec, "paper").size(), 2 * 3) << "one seed of each";
  expect_error([&] { set_everywhere(spec, "repeats=0"); }, {"one or more", "--set repeats"});
  expect_error([&] { set_everywhere(spec, "repaets=1"); }, {"unknown key", "did you mean 'repeats'?"});
  expect_error([&] { set_everywhere(spec, "weight_deacy=0.5"); },
               {"unknown key", "did you mean 'weight_decay'?"});
  expect_error([&] { set_everywhere(spec, "lr"); }, {"not an assignment"});
  expect_error([&] { set_everywhere(spec, "lr=-1"); }, {"out of range", "--set lr"});
}

TEST(SweepPlan, CountsEqualGradientsForMethodsOfEqualBudgets) {
  for (const PlannedRun& row : plan_sweep(parse_spec(kSpec, "s.toml"), "paper")) {
    const int64_t epochs = row.run.cell.at("network") == "small" ? 20 : 10;
    // 10,000 samples: 312 inner batches of 32 an epoch of NAG; 156 outer batches of three gradients for
    // BP-SVRG.
    EXPECT_EQ(row.sample_gradients, epochs * 156 * 3 * 32);
    EXPECT_EQ(row.gradient_evaluations, static_cast<double>(epochs * 156 * 3));
  }
}

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

TEST(Specs, ThatComeWithTheProgramCanBePlanned) {
  for (const char* name : {"demo", "modified-sgd", "smoke/methods"}) {
    const Spec spec = read_spec(fmt::format("{}/specs/{}.toml", BATCHPLUS_SOURCE_DIR, name));
    for (const SpecScale& scale : spec.scales) EXPECT_FALSE(plan_sweep(spec, scale.name).empty()) << name;
  }
}

}  // namespace
}  // namespace batchplus
