// Runs that are given more epochs, or a larger budget, than they began with.

#include "run/extension.h"

#include <gtest/gtest.h>

#include <csignal>

#include "checkpoint/storage.h"
#include "config/config_toml.h"
#include "support/expect_error.h"
#include "support/running.h"
#include "support/short_run.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::run_once;
using testing::Scratch;
using testing::timeless_records;

RunConfig constant_config(const std::string& method) {
  RunConfig config = testing::short_config("smallcnn", method);
  config.schedule = "constant";
  config.epochs = 2;
  return config;
}

RunOutcome extend_run(RunConfig config, const fs::path& out, std::function<int()> stop_signal = nullptr) {
  config.out = out.string();
  return run_training(
      config,
      {.is_quiet = true, .is_resuming = true, .is_extending = true, .stop_signal = std::move(stop_signal)});
}

/// The run, config, identity and files are those of one that had asked for its length at once.
void expect_same_run(const fs::path& run, const fs::path& whole) {
  EXPECT_EQ(testing::weights_of_run(run), testing::weights_of_run(whole));
  EXPECT_EQ(timeless_records(run), timeless_records(whole));
  EXPECT_EQ(read_file(run / "weights.pt"), read_file(whole / "weights.pt"));
  const auto identity = [](const fs::path& directory) {
    return config_id(parse_run_config(read_config(RunLayout{directory}), "config.toml"));
  };
  EXPECT_EQ(identity(run), identity(whole));
  const auto result = [](const fs::path& directory) {
    Json status = result_of(read_status(RunLayout{directory}));
    for (const char* key : {"seconds", "metrics_seconds", "samples_per_second"}) status.erase(key);
    return status;
  };
  EXPECT_EQ(result(run), result(whole));
  const auto checkpoint = [](const fs::path& directory) {
    Json state = read_contents(directory / "checkpoint.pt").state;
    state.erase("records");
    state["train"].erase("seconds");
    state["train"].erase("metrics_seconds");
    return state;
  };
  EXPECT_EQ(checkpoint(run), checkpoint(whole));
}

class ExtensionTest : public ::testing::Test {
 protected:
  void finish_both(RunConfig config) {
    run_once(config, run);
    config.epochs = 4;
    run_once(config, whole);
    longer = config;
  }
  Scratch scratch;
  fs::path run = scratch / "run";
  fs::path whole = scratch / "whole";
  RunConfig longer;
};

TEST_F(ExtensionTest, EndsAsARunThatHadAskedForAllEpochsAtOnce) {
  for (const char* method : {"sgd", "bp-svrg", "adam"}) {
    SCOPED_TRACE(method);
    finish_both(constant_config(method));
    EXPECT_EQ(extend_run(longer, run).result["epochs"], 4);
    expect_same_run(run, whole);
    fs::remove_all(run);
    fs::remove_all(whole);
  }
}

TEST_F(ExtensionTest, OfABudgetEndsAsARunThatHadAskedForAllOfIt) {
  RunConfig config = constant_config("sgd");  // a gradient a sample: whole epochs
  config.epochs.reset();
  config.budget_epochs = 2;
  run_once(config, run);
  for (const double budget : {2.01, 3.5}) {  // the first allows no further outer batch
    SCOPED_TRACE(budget);
    config.budget_epochs = budget;
    run_once(config, whole);
    extend_run(config, run);
    expect_same_run(run, whole);
    fs::remove_all(whole);
  }
  config.budget_epochs = 5;
  expect_error([&] { extend_run(config, run); }, {"cannot be extended", "within an epoch", "3.5 epochs"});
}

TEST_F(ExtensionTest, OfARunThatHasNotEndedMakesItLongerToo) {
  int boundaries = 0;
  run_once(constant_config("bp-svrg"), run, [&] { return ++boundaries > 2 ? SIGTERM : 0; });
  longer = constant_config("bp-svrg");
  longer.epochs = 4;
  run_once(longer, whole);
  extend_run(longer, run);
  expect_same_run(run, whole);
}

TEST_F(ExtensionTest, IsResumedWhereverItIsStopped) {
  finish_both(constant_config("bp-svrg"));
  const Scratch before;
  fs::copy(run, before / "run");
  ASSERT_EQ(extend_run(longer, run, [] { return SIGTERM; }).signal, SIGTERM);

  // As if killed when only the checkpoint was written: the shorter run is still there.
  const Scratch early;
  fs::copy(run, early / "run");
  for (const char* file : {"status.json", "config.toml", "metrics.jsonl"})
    fs::copy_file(before / "run" / file, early / "run" / file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(run_once(constant_config("bp-svrg"), early / "run").result["epochs"], 2);
  extend_run(longer, early / "run");
  expect_same_run(early / "run", whole);

  // As if killed when the status was gone and the config not yet there.
  const Scratch later;
  fs::copy(run, later / "run");
  fs::remove(later / "run" / "status.json");
  fs::copy_file(before / "run" / "config.toml", later / "run" / "config.toml",
                fs::copy_options::overwrite_existing);
  extend_run(longer, later / "run");
  expect_same_run(later / "run", whole);

  run_once(longer, run);
  expect_same_run(run, whole);
  EXPECT_EQ(extend_run(longer, run).result["epochs"], 4) << "it is so long already";
}

TEST_F(ExtensionTest, IsRefusedWithTheReasonWhereTheLongerRunWouldHaveBegunDifferently) {
  const auto refuse = [&](const std::function<void(RunConfig&)>& change,
                          std::initializer_list<std::string> words) {
    RunConfig config = constant_config("bp-svrg");
    change(config);
    run_once(config, run);
    const std::string status = read_file(run / "status.json");
    if (config.epochs) config.epochs = *config.epochs + 4;
    expect_error([&] { extend_run(config, run); }, words);
    EXPECT_EQ(read_file(run / "status.json"), status);
    fs::remove_all(run);
  };
  for (const char* schedule : {"cosine", "step:0.5/10", "warmup:0.1+constant"}) {
    refuse([&](RunConfig& config) { config.schedule = schedule; },
           {"cannot be extended", "learning rate depends", "schedule", schedule});
  }
  refuse([](RunConfig& config) { config.coefficient = "linear:1"; },
         {"cannot be extended", "coefficient depends", "linear:1"});
  refuse([](RunConfig& config) { config.warmup_method = "alpha-svrg"; },
         {"cannot be extended", "coefficient depends", "alpha-svrg"});
  refuse([](RunConfig& config) { config.eval_every = 3; }, {"cannot be extended", "eval_every", "3"});
  refuse([](RunConfig& config) { config.metrics_every = 3; }, {"cannot be extended", "metrics_every", "3"});
  refuse([](RunConfig& config) { config.checkpoint_every = "never"; },
         {"cannot be extended", "no checkpoint", "never"});
  refuse([](RunConfig& config) { config.budget_epochs = 50; }, {"cannot be extended", "two limits"});
  refuse([](RunConfig& config) { config.lr = 1e30; }, {"cannot be extended", "diverged"});
}

TEST_F(ExtensionTest, TakesNoShorterLengthNoOtherConfigAndNoMissingRun) {
  RunConfig config = constant_config("sgd");
  expect_error([&] { extend_run(config, run); }, {"no run to extend"});
  config.epochs = 3;
  run_once(config, run);
  config.epochs = 2;
  expect_error([&] { extend_run(config, run); }, {"longer than that", "extend", "2", "it has 3"});
  config.epochs = 4;
  config.lr = 0.5;
  expect_error([&] { extend_run(config, run); }, {"another configuration", "lr is 0.5"});
  config.lr = constant_config("sgd").lr;
  fs::remove(run / "checkpoint.pt");
  expect_error([&] { extend_run(config, run); }, {"its checkpoint is missing", "checkpoint.pt"});
}

}  // namespace
}  // namespace batchplus
