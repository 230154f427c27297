#include "checkpoint/saver.h"

#include <ATen/core/Tensor.h>

#include "checkpoint/storage.h"
#include "util/hash.h"

namespace batchplus {

CheckpointSaver::CheckpointSaver(const RunState& state, RunIdentity identity, CheckpointSchedule schedule,
                                 const RunWriter* writer, std::function<int()> stop_signal, Group* group)
    : state_(state),
      identity_(std::move(identity)),
      schedule_(std::move(schedule)),
      writer_(writer),
      stop_signal_(std::move(stop_signal)),
      group_(group) {}

bool CheckpointSaver::is_due(const TrainState& train) {
  if (stop_signal_) signal_ = stop_signal_();
  const bool has_time_come = writer_ != nullptr && schedule_.is_due(train);
  if (group_ == nullptr) return signal_ != 0 || has_time_come;
  struct Vote {
    int signal;
    int has_time_come;
  };
  std::vector<Vote> votes(static_cast<size_t>(group_->size()));
  votes[static_cast<size_t>(group_->rank())] = {signal_, has_time_come ? 1 : 0};
  group_->gather(votes.data(), group_->size(), sizeof(Vote));
  for (int rank = group_->size() - 1; rank >= 0; --rank) {
    const Vote& vote = votes[static_cast<size_t>(rank)];
    if (vote.signal == 0) continue;
    signal_ = vote.signal;
    signalled_rank_ = rank;
  }
  return signal_ != 0 || votes[0].has_time_come != 0;
}

bool CheckpointSaver::goes_on(const TrainState& train) {
  if (!is_due(train)) return true;
  if (group_ != nullptr) {
    const torch::Tensor& w = state_.parameters.values();
    group_->agree("the weights", sha256_hex({static_cast<const char*>(w.data_ptr()), w.nbytes()}),
                  "a processor or its memory failed: go on from the last checkpoint");
  }
  if (writer_ != nullptr) {
    save_checkpoint(writer_->layout(), state_.capture(train, identity_, writer_->records()));
    schedule_.restart(train);
  }
  return signal_ == 0;
}

}  // namespace batchplus
