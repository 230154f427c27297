#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "methods/registry.h"
#include "run/run.h"
#include "support/image_files.h"
#include "support/scratch.h"

namespace batchplus::testing {

/// Fifty small pictures with labels, which load in a moment.
inline const std::filesystem::path& data_directory() {
  static const Scratch scratch;
  static const bool is_written = [] {
    write_cifar10(scratch / "cifar-10-batches-bin", 10);
    return true;
  }();
  EXPECT_TRUE(is_written);
  return scratch.path();
}

/// A dozen outer steps at most, with everything that has state: momentum, warm-up, a schedule, sums of
/// probes.
inline RunConfig short_config(const std::string& model, const std::string& method) {
  RunConfig config;
  config.dataset = "cifar10";
  config.data_dir = data_directory().string();
  config.model = model;
  config.method = method;
  config.train_limit = 40;
  config.test_limit = 10;
  config.inner_batch = 10;
  config.epochs = 3;
  config.lr = 0.02;
  config.weight_decay = 1e-3;
  config.schedule = "cosine";
  config.warmup_epochs = 1;
  config.warmup_method = "nag";
  config.metrics = "control-variate";
  config.augment = "standard";
  if (find_method(method, "test").update == "plain") config.update_rule = "nesterov";
  if (model == "smallcnn") config.dropout = 0.5;
  return config;
}

inline RunOutcome run_once(RunConfig config, const std::filesystem::path& out,
                           std::function<int()> stop_signal = nullptr) {
  config.out = out.string();
  return run_training(config, {.is_quiet = true, .is_resuming = true, .stop_signal = std::move(stop_signal)});
}

/// Runs one outer step, or one epoch's end, at a time, each from the checkpoint of the one before.
inline RunOutcome run_in_pieces(const RunConfig& config, const std::filesystem::path& out, int& pieces) {
  for (pieces = 1; pieces < 100; ++pieces) {
    int boundaries = 0;
    // The first boundary is the start itself.
    const RunOutcome outcome = run_once(config, out, [&] { return ++boundaries > 1 ? SIGTERM : 0; });
    if (outcome.signal == 0) return outcome;
    EXPECT_EQ(outcome.signal, SIGTERM);
    EXPECT_EQ(outcome.result["status"], "interrupted");
  }
  ADD_FAILURE() << "the run does not come to an end";
  return {};
}

}  // namespace batchplus::testing
