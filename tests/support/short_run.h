#pragma once

#include <gtest/gtest.h>

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

}  // namespace batchplus::testing
