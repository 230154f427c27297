#include "config/spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "config/config_toml.h"
#include "support/example_spec.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::kSpec;
using testing::with;

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
}

// The column would say NAG, and the runs be sgd.
TEST(Spec, OverridesAndScalesLeaveTheKeysOfAxesAndChoicesAlone) {
  const auto refuse = [](const std::string& what, const std::string& by) {
    expect_error([&] { parse_spec(with(what, by), "s.toml"); },
                 {"another part of the spec says what this key is", "s.toml:", "sets it"});
  };
  for (const std::string key : {"method = \"sgd\"", "lr = 3", "model = \"mlp\""})
    refuse("weight_decay = 1e-4\n", key + "\n");
  // The scale has train_limit = 320.
  refuse("model = \"mlp\"\n", "model = \"mlp\"\ntrain_limit = 100\n");
}

// Where the choice sets nothing, an override may.
TEST(Spec, AnOverrideSetsTheChosenKeyInOtherCells) {
  const auto spec_with = [](const std::string& label) {
    return fmt::format(R"(
title = "t"
[base]
dataset = "synthetic"
[[axis]]
name = "method"
  [[axis.value]]
  label = "NAG"
  method = "nag"
  [[axis.value]]
  label = "SGD"
  method = "sgd"
[[override]]
when = {{ method = "{}" }}
lr = 0.7
[choose]
key = "lr"
values = [0.1, 0.2]
by = "test_accuracy"
when = {{ method = "SGD" }}
)",
                       label);
  };
  const auto runs = expand(parse_spec(spec_with("NAG"), "s.toml"), "full");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].config.lr, 0.7);
  EXPECT_EQ(runs[2].config.lr, 0.2);
  expect_error([&] { parse_spec(spec_with("SGD"), "s.toml"); },
               {"another part of the spec says what this key is", "[choose] sets it"});
}

TEST(Spec, ShowsTheValueThatIsOutOfRangeAndWantsNames) {
  const auto refuse = [](const std::string& what, const std::string& by, const std::string& value) {
    expect_error([&] { parse_spec(with(what, by), "s.toml"); }, {"s.toml:", "value: " + value});
  };
  refuse("repeats = 3", "repeats = 0", "0");
  refuse("epochs_times = 1.5", "epochs_times = nan", "nan");
  refuse("epochs_times = 1.5", "epochs_times = inf", "inf");
  refuse("[published]", "[report]\nsmooth = 0\n[published]", "0");
  refuse("[published]", "[report]\nsmooth = 4\n[published]", "4");
  refuse("label = \"NAG\"", "label = \"\"", "\"\"");
  refuse("name = \"method\"", "name = \" \"", "\" \"");
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
  const Spec levels = parse_spec(kSpec + "[report]\nat_loss = [1, 0.4]\n", "s.toml");
  EXPECT_EQ(levels.report.at_loss, (std::vector<double>{1, 0.4}));
  expect_error([] { parse_spec(kSpec + "[report]\nat_loss = [0.4, -1]\n", "s.toml"); },
               {"s.toml", "-1", "more than zero"});
  expect_error([] { parse_spec(kSpec + "[report]\nat_loss = 0.4\n", "s.toml"); }, {"wrong type", "at_loss"});
  expect_error([] { parse_spec(kSpec + "[report]\nat_loss = [0.4, 1, 0.40]\n", "s.toml"); },
               {"given twice", "s.toml", "0.4"});
  expect_error([] { parse_spec(kSpec + "[report]\nx = \"second\"\n", "s.toml"); },
               {"did you mean 'seconds'?"});
  expect_error([] { parse_spec(kSpec + "[report]\ncurve = []\n", "s.toml"); }, {"did you mean 'curves'?"});
  expect_error([] { parse_spec(kSpec + "[report]\ncurves = 3\n", "s.toml"); }, {"wrong type", "curves"});
  expect_error([] { parse_spec(kSpec + "[report]\nsmooth = 0\n", "s.toml"); }, {"an odd number"});
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
  expect_error([&] { set_everywhere(spec, "weight_decay=0.1"); }, {"set twice", "weight_decay=0.1"});
  expect_error([&] { set_everywhere(spec, "repeats=0"); }, {"one or more", "set repeats"});
  expect_error([&] { set_everywhere(spec, "repaets=1"); }, {"unknown key", "did you mean 'repeats'?"});
  expect_error([&] { set_everywhere(spec, "weight_deacy=0.5"); },
               {"unknown key", "did you mean 'weight_decay'?"});
  expect_error([&] { set_everywhere(spec, "lr"); }, {"not an assignment"});
  expect_error([&] { set_everywhere(spec, "lr=-1"); }, {"out of range", "set lr"});
}

// Whatever the scale; a method's factor stays.
TEST(Spec, EpochsThatAreSetAreNotScaled) {
  Spec spec = parse_spec(
      "title = \"t\"\n[base]\ndataset = \"synthetic\"\nepochs = 100\n[[axis]]\nname = \"method\"\n"
      "[[axis.value]]\nlabel = \"SGD\"\nmethod = \"sgd\"\nepochs_times = 2\n"
      "[[axis.value]]\nlabel = \"BP\"\nmethod = \"bp-svrg\"\n[scale.small]\nepochs_times = 0.1\n",
      "s.toml");
  EXPECT_EQ(expand(spec, "small")[1].config.epochs, 10);
  set_everywhere(spec, "epochs=5");
  const auto runs = expand(spec, "small");
  EXPECT_EQ(runs[0].config.epochs, 10);
  EXPECT_EQ(runs[1].config.epochs, 5);
}

// It would be ignored, or cells would be called what they are not.
TEST(Spec, KeysOfAnAxisOrAChoiceCannotBeSetForEveryRun) {
  Spec spec = parse_spec(kSpec, "s.toml");
  expect_error([&] { set_everywhere(spec, "method=sgd"); }, {"cell by cell", "method=sgd", "axis 'method'"});
  expect_error([&] { set_everywhere(spec, "model=mlp"); }, {"axis 'network'"});
  expect_error([&] { set_everywhere(spec, "lr=0.3"); }, {"[choose]"});
  EXPECT_NO_THROW(set_everywhere(spec, "inner_batch=16"));
  EXPECT_NO_THROW(set_everywhere(spec, "repeats=1"));
}

TEST(Spec, AChoiceHasEachValueOnce) {
  for (const char* values : {"values = [0.1, 0.1]", "values = [0.1, 0.10]", "values = [0.1, \"1e-1\"]"}) {
    expect_error([&] { parse_spec(with("values = [0.5, 1.0]", values), "s.toml"); },
                 {"stands there twice", "s.toml:32:"});
  }
  expect_error([&] { parse_spec(with("values = [0.5, 1.0]", "values = [0.5, -1]"), "s.toml"); },
               {"out of range", "s.toml:32:", "lr"});
}

TEST(Spec, AScaleMultipliesABudgetTooOrSetsIt) {
  const auto budget = [](const std::string& scale) {
    const std::string text = "title = \"t\"\n[base]\nbudget_epochs = 40\n[scale.some]\n" + scale;
    return expand(parse_spec(text, "s.toml"), "some").at(0).config.budget_epochs;
  };
  EXPECT_EQ(budget(""), 40);
  EXPECT_EQ(budget("epochs_times = 0.1\n"), 4);
  EXPECT_EQ(budget("budget_epochs = 3\n"), 3);
  EXPECT_EQ(budget("epochs_times = 0.1\nbudget_epochs = 3\n"), 3);
}

TEST(Spec, HasNoMoreRunsThanASweepCanHave) {
  const auto count = [](const std::string& repeats) {
    return expand(parse_spec(with("repeats = 3", "repeats = " + repeats), "s.toml"), "paper").size();
  };
  expect_error([&] { count("1000000000000"); }, {"too many runs", "1000000000000", "at most 10,000"});
  expect_error([&] { count("1667"); }, {"too many runs"});
  EXPECT_EQ(count("1666"), 6 * 1666U);
}

TEST(Spec, KnowsWhereEachKeyWasSet) {
  const SpecRun run = expand(parse_spec(kSpec, "s.toml"), "paper").at(0);
  EXPECT_EQ(run.places.at("model"), "s.toml:14:3, model");
  EXPECT_EQ(run.places.at("lr"), "s.toml:32:10, lr");
  EXPECT_FALSE(run.places.contains("seed"));
}

}  // namespace
}  // namespace batchplus
