#pragma once

#include <vector>

#include "methods/weight_average.h"
#include "train/callback.h"

namespace batchplus {

/// Lets others take part in a training at its averaged weights: what they evaluate and measure after an epoch
/// is the averaged network.
class AveragedCallbacks : public TrainCallback {
 public:
  /// All of it outlives this.
  AveragedCallbacks(const WeightAverage& average, std::vector<TrainCallback*> callbacks)
      : average_(average), callbacks_(std::move(callbacks)) {}

  void after_outer_batch(const TrainState& state, int64_t expected) override {
    for (TrainCallback* callback : callbacks_) callback->after_outer_batch(state, expected);
  }
  void after_epoch(const EpochEnd& end) override {
    const WeightAverage::InPlace averaged(average_);
    for (TrainCallback* callback : callbacks_) callback->after_epoch(end);
  }
  bool goes_on(const TrainState& state) override {
    bool all = true;
    for (TrainCallback* callback : callbacks_) all = callback->goes_on(state) && all;
    return all;
  }

 private:
  const WeightAverage& average_;
  std::vector<TrainCallback*> callbacks_;
};

}  // namespace batchplus
