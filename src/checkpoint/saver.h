#pragma once

#include <functional>

#include "checkpoint/run_state.h"
#include "checkpoint/schedule.h"
#include "group/group.h"
#include "store/run_directory.h"
#include "train/callback.h"

namespace batchplus {

/// Saves a run whenever its schedule says so, and when a signal asks for its end.
class CheckpointSaver : public TrainCallback {
 public:
  /// `writer`: of the run directory; null without one, and then nothing is saved. `stop_signal` returns the
  /// number of a signal that asks for the end, else 0; may be empty. `group`: who trains together, of whom
  /// any may get the signal and only one has a directory; null for a process by itself. All of it outlives
  /// the saver.
  CheckpointSaver(const RunState& state, RunIdentity identity, CheckpointSchedule schedule,
                  const RunWriter* writer, std::function<int()> stop_signal, Group* group = nullptr);

  /// The schedule counts from here on.
  void begin(const TrainState& train) { schedule_.restart(train); }
  bool goes_on(const TrainState& train) override;
  /// What interrupted the run; 0 for nothing.
  int signal() const { return signal_; }
  /// The rank that got it.
  int signalled_rank() const { return signalled_rank_; }

 private:
  /// Whether to save, which is also when a signal asks for the end. The same on all ranks.
  bool is_due(const TrainState& train);

  const RunState& state_;
  RunIdentity identity_;
  CheckpointSchedule schedule_;
  const RunWriter* writer_;
  std::function<int()> stop_signal_;
  Group* group_;
  int signal_ = 0;
  int signalled_rank_ = 0;
};

}  // namespace batchplus
