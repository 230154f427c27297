#pragma once

#include <string>

#include "cli/config_options.h"

namespace batchplus {

/// How `train` is spread over processes, as the options say.
struct GroupOptions {
  /// 0: not given.
  int processes = 0;
  std::string launcher = "own";
  /// Empty: exact where the number of processes allows it.
  std::string reduction;
  /// synchronized or local; empty: as the run's config has it.
  std::string batch_norm;
  double timeout_seconds = 120;
  int restarts = 0;
};

struct TrainCommand {
  std::string config_file;
  ConfigOverrides overrides;
  bool has_tensorboard = false;
  bool is_resuming = false;
  /// Epochs, or the budget, that the run in the directory shall have; empty: those that it has.
  std::string extension;
  GroupOptions group;
};

}  // namespace batchplus
