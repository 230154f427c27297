#pragma once

#include "experiment/run_config.h"
#include "store/run_directory.h"
#include "train/trainer.h"

namespace batchplus {

/// How a run is carried out, as opposed to what it computes.
struct RunEnvironment {
  torch::Device device = torch::kCPU;
  /// 0: as many as are set, but for a run that is resumed those that it began with. Sums in another order
  /// have other last bits.
  int threads = 0;
  bool is_quiet = false;
  /// Also writes events for TensorBoard into the run directory.
  bool has_tensorboard = false;
  /// Goes on with the run of the directory, if there is one.
  bool is_resuming = false;
  /// A signal's number when the run should save itself and stop, else 0; may be empty.
  std::function<int()> stop_signal = nullptr;
  /// Told the share of the run that is done; may be empty.
  std::function<void(double fraction)> on_progress = nullptr;
};

struct RunOutcome {
  /// The keys that docs/run-directory.md and `train --json` promise.
  Json result;
  bool is_diverged = false;
  /// What interrupted it; 0 when it ended by itself.
  int signal = 0;
};

/// Builds dataset -> network -> gradient oracle -> method from the config and trains. Everything about the
/// config that can be wrong is checked before the first step and before anything is written. A run that is
/// interrupted, at any moment and by whatever, ends with the same bits once it is resumed.
RunOutcome run_training(RunConfig config, const RunEnvironment& environment);

}  // namespace batchplus
