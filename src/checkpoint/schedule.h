#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/train_state.h"
#include "util/clock.h"

namespace batchplus {

/// When a run saves itself: "1" after every epoch, "0.25" four times an epoch, "10m" after ten minutes (also
/// s and h), "1,10m" at whichever comes first, "never".
class CheckpointSchedule {
 public:
  /// Seconds since some moment that stays the same.
  using Clock = std::function<double()>;

  /// An Error names `where` when the text is not a schedule. A test hands a clock of its own in.
  static CheckpointSchedule parse(
      const std::string& text, const std::string& where,
      Clock clock = [since = Stopwatch()] { return since.seconds(); });

  /// Asked at every boundary of the training.
  bool is_due(const TrainState& state) const;
  /// Counts from here on.
  void restart(const TrainState& state);

 private:
  explicit CheckpointSchedule(Clock clock) : clock_(std::move(clock)), last_seconds_(clock_()) {}

  std::optional<double> epochs_;
  std::optional<double> seconds_;
  Clock clock_;
  double last_epoch_ = 0;
  double last_seconds_ = 0;
  bool was_over_ = false;
};

}  // namespace batchplus
