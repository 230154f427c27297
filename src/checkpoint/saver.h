#pragma once

#include <functional>

#include "checkpoint/run_state.h"
#include "checkpoint/schedule.h"
#include "store/run_directory.h"
#include "train/callback.h"

namespace batchplus {

/// Saves a run whenever its schedule says so, and when a signal asks for its end.
class CheckpointSaver : public TrainCallback {
 public:
  /// `writer`: of the run directory; null without one, and then nothing is saved. `stop_signal` returns the
  /// number of a signal that asks for the end, else 0; may be empty. All of it outlives the saver.
  CheckpointSaver(const RunState& state, RunIdentity identity, CheckpointSchedule schedule,
                  const RunWriter* writer, std::function<int()> stop_signal);

  /// The schedule counts from here on.
  void begin(const TrainState& train) { schedule_.restart(train); }
  bool goes_on(const TrainState& train) override;
  /// What interrupted the run; 0 for nothing.
  int signal() const { return signal_; }

 private:
  const RunState& state_;
  RunIdentity identity_;
  CheckpointSchedule schedule_;
  const RunWriter* writer_;
  std::function<int()> stop_signal_;
  int signal_ = 0;
};

}  // namespace batchplus
