#include "checkpoint/saver.h"

#include "checkpoint/storage.h"

namespace batchplus {

CheckpointSaver::CheckpointSaver(const RunState& state, RunIdentity identity, CheckpointSchedule schedule,
                                 const RunWriter* writer, std::function<int()> stop_signal)
    : state_(state),
      identity_(std::move(identity)),
      schedule_(std::move(schedule)),
      writer_(writer),
      stop_signal_(std::move(stop_signal)) {}

bool CheckpointSaver::goes_on(const TrainState& train) {
  if (stop_signal_) signal_ = stop_signal_();
  const bool is_due = signal_ != 0 || schedule_.is_due(train);
  if (writer_ != nullptr && is_due) {
    save_checkpoint(writer_->layout(), state_.capture(train, identity_, writer_->records()));
    schedule_.restart(train);
  }
  return signal_ == 0;
}

}  // namespace batchplus
