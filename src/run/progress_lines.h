#pragma once

#include <functional>

#include "train/callback.h"
#include "util/progress.h"

namespace batchplus {

/// Shows how far a training is, and each epoch's record in short.
class ProgressLines : public TrainCallback {
 public:
  /// `on_fraction` is told the share that is done; may be empty.
  ProgressLines(Progress& progress, std::function<void(double fraction)> on_fraction);

  void after_outer_batch(const TrainState& state, int64_t expected) override;
  void after_epoch(const EpochEnd& end) override;

 private:
  Progress& progress_;
  std::function<void(double)> on_fraction_;
};

}  // namespace batchplus
