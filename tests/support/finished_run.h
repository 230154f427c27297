#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/run_directory.h"

namespace batchplus::testing {

/// What a finished run recorded, as far as reports look at it.
struct FinishedRun {
  std::string method = "nag";
  int64_t seed = 1;
  int inner_batch = 10;
  std::string status = "done";
  /// After each epoch.
  std::vector<double> test_accuracies = {50};
  double validation_accuracy = 0;
  /// In evaluation mode, after each epoch, as --metrics gaps records them; empty: not recorded.
  std::vector<double> train_losses = {};
  std::string more_config = "";
  Json more_result = Json::object();
  /// What it was given, as digests; empty: not recorded.
  Json inputs = Json::object();
};

/// Writes it as training does.
inline void write_run(const std::filesystem::path& directory, const FinishedRun& run) {
  Json provenance = {{"commit", "abc"}, {"threads", 1}, {"started", "2026-01-01T00:00:00Z"}};
  if (!run.inputs.empty()) provenance[kInputs] = run.inputs;
  RunWriter writer(directory,
                   fmt::format("dataset = \"cifar10\"\nmethod = \"{}\"\nseed = {}\n{}", run.method, run.seed,
                               run.more_config),
                   provenance);
  int epoch = 0;
  for (const double accuracy : run.test_accuracies) {
    ++epoch;
    Json record = {{"epoch", epoch},
                   {"gradient_evaluations", 40 * epoch},
                   {"sample_gradients", 40 * run.inner_batch * epoch},
                   {"seconds", 0.5 * epoch},
                   {"running_loss", 3 - accuracy / 50},
                   {"test_accuracy", accuracy},
                   {"test_loss", 3 - accuracy / 50}};
    if (!run.train_losses.empty()) {
      const double loss = run.train_losses.at(static_cast<size_t>(epoch - 1));
      record["loss_gap"] = {{"value", 3 - accuracy / 50 - loss}, {"train_loss", loss}};
      record["accuracy_gap"] = {{"value", 10.0}, {"train_accuracy", accuracy + 10}};
    }
    writer.record(record);
  }
  Json result = {{"gradient_evaluations", 40 * epoch},
                 {"sample_gradients", 40 * run.inner_batch * epoch},
                 {"seconds", 0.5 * epoch},
                 {"train_accuracy", run.test_accuracies.back() + 10},
                 {"train_loss", 1.0},
                 {"test_accuracy", run.test_accuracies.back()},
                 {"test_loss", 3 - run.test_accuracies.back() / 50},
                 {"validation_accuracy", run.validation_accuracy}};
  result.update(run.more_result);
  writer.set_status(run.status, result);
}

}  // namespace batchplus::testing
