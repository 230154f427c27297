#pragma once

#include <optional>
#include <string>

#include "train/trainer.h"
#include "util/clock.h"

namespace batchplus {

/// When a run saves itself: "1" after every epoch, "0.25" four times an epoch, "10m" after ten minutes (also
/// s and h), "1,10m" at whichever comes first, "never".
class CheckpointSchedule {
 public:
  /// An Error names `where` when the text is not a schedule.
  static CheckpointSchedule parse(const std::string& text, const std::string& where);

  /// Asked at every boundary of the training.
  bool is_due(const TrainState& state) const;
  /// Counts from here on.
  void restart(const TrainState& state);

 private:
  std::optional<double> epochs_;
  std::optional<double> seconds_;
  double last_epoch_ = 0;
  bool was_over_ = false;
  Stopwatch since_;
};

}  // namespace batchplus
