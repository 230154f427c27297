#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "store/run_directory.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus::testing {

/// The record of an epoch.
inline Json record_of(int epoch) {
  return {{"epoch", epoch},
          {"outer_steps", 10 * epoch},
          {"gradient_evaluations", 40 * epoch},
          {"sample_gradients", 400 * epoch},
          {"seconds", 2.0 * epoch},
          {"running_loss", 2.0 / epoch},
          {"test_accuracy", 50.0 + epoch},
          {"test_loss", 1.0 / epoch}};
}

/// A run that has begun: its writer holds its lock, as training does.
inline RunWriter begin_run(const std::filesystem::path& directory, const std::string& more_config = "") {
  return RunWriter(
      directory,
      "dataset = \"synthetic\"\nmodel = \"mlp\"\nmethod = \"nag\"\nepochs = 10\nseed = 3\n" + more_config,
      {{"commit", "abc"}, {"threads", 1}, {"processor", "a processor"}});
}

}  // namespace batchplus::testing
