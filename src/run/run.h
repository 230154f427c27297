#pragma once

#include <functional>
#include <optional>

#include "checkpoint/continuation.h"
#include "checkpoint/run_state.h"
#include "checkpoint/saver.h"
#include "objective/shared_batch.h"
#include "run/evaluator.h"
#include "run/probes.h"
#include "run/run_parts.h"
#include "store/run_directory.h"

namespace batchplus {

/// How a run is carried out, as opposed to what it computes.
struct RunEnvironment {
  torch::Device device = torch::kCPU;
  /// 0: as many as are set, but for a run by libtorch's kernels that is resumed those that it began with:
  /// their last bits depend on them.
  int threads = 0;
  bool is_quiet = false;
  /// Also writes events for TensorBoard into the run directory.
  bool has_tensorboard = false;
  /// Goes on with the run of the directory, if there is one.
  bool is_resuming = false;
  /// Where the config allows more epochs, or a larger budget, than that run: makes it the longer one.
  bool is_extending = false;
  /// Keys that were given by hand: an Error when one changes nothing (run/unread_keys.h).
  std::vector<std::string> given_keys = {};
  /// A signal's number when the run should save itself and stop, else 0; may be empty.
  std::function<int()> stop_signal = nullptr;
  /// With whom the run is shared out; alone without a group. Only rank 0 writes, and knows the result's
  /// history.
  Sharing sharing = {};
  /// Told the share of the run that is done; may be empty.
  std::function<void(double fraction)> on_progress = nullptr;
};

struct RunOutcome {
  /// The keys that docs/run-directory.md and `train --json` promise.
  Json result;
  bool is_diverged = false;
  /// What interrupted it; 0 when it ended by itself.
  int signal = 0;
  /// The rank that was interrupted, as Group::name_of has it; empty for a process by itself.
  std::string signalled = {};
};

/// One training run. It is built, restored if it goes on from a checkpoint, trained and concluded. A run that
/// is interrupted, at any moment and by whatever, ends with the same bits once it is resumed.
class Run {
 public:
  /// A new one. Everything that can be wrong with the plan is an Error here. Plan, data and environment
  /// outlive the run.
  Run(const RunPlan& plan, const RunData& data, const RunEnvironment& environment);

  /// Takes over where a checkpoint left off. `where` names it.
  void restore(const Checkpoint& checkpoint, const std::string& where);
  /// Passes over the training samples that are done.
  double epochs_done() const { return start_.last.epochs_done; }

  /// Trains to the end, or until a signal asks for it, writing as it goes. `writer`: of the run directory,
  /// which has begun or goes on; null without one.
  RunOutcome train(RunWriter* writer);

  Progress& progress() { return progress_; }

 private:
  RunOutcome conclude(const TrainResult& trained, const Json& last_record, RunWriter* writer,
                      const CheckpointSaver& saver);

  const RunPlan& plan_;
  const RunData& data_;
  const RunEnvironment& environment_;
  Progress progress_;
  RunParts parts_;
  Evaluator evaluator_;
  Probes probes_;
  RunState state_;
  TrainState start_;
  /// Of all processes that had a part in the run so far.
  bool has_portable_bits_;
};

/// Resolves the config, loads its data and runs it, from the beginning or, where the environment says so,
/// from what the directory holds. What can be wrong with the config is checked before anything is written.
RunOutcome run_training(const RunConfig& config, const RunEnvironment& environment);

}  // namespace batchplus
