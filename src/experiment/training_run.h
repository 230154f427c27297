#pragma once

#include "experiment/run_config.h"
#include "store/run_directory.h"
#include "train/trainer.h"

namespace batchplus {

/// How a run is carried out, as opposed to what it computes.
struct RunEnvironment {
  torch::Device device = torch::kCPU;
  bool is_quiet = false;
  /// Also writes events for TensorBoard into the run directory.
  bool has_tensorboard = false;
  /// Told the share of the run that is done; may be empty.
  std::function<void(double fraction)> on_progress = nullptr;
};

struct RunOutcome {
  /// The keys that docs/run-directory.md and `train --json` promise.
  Json result;
  bool is_diverged = false;
};

/// Builds dataset -> network -> gradient oracle -> method from the config and trains. Everything about the
/// config that can be wrong is checked before the first step and before anything is written.
RunOutcome run_training(RunConfig config, const RunEnvironment& environment);

}  // namespace batchplus
