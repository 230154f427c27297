#pragma once

#include "train/train_state.h"

namespace batchplus {

/// An epoch that is over, or the part of one that the budget allowed.
struct EpochEnd {
  EpochRecord& record;
  /// Nothing is left to train.
  bool is_last = false;

  /// Whether what happens after every so many epochs, and at the end, happens now.
  bool is_due(int64_t every) const {
    return is_last || static_cast<int64_t>(record.epochs_done) % every == 0;
  }
};

/// Takes part in a training besides the method: evaluates, measures, shows, records, saves. A training has a
/// list of callbacks and calls each of them in the list's order.
class TrainCallback {
 public:
  virtual ~TrainCallback() = default;

  /// After an outer batch. `expected` is the number of sample gradients of the whole training.
  virtual void after_outer_batch(const TrainState& /*state*/, int64_t /*expected*/) {}

  /// After an epoch. What one callback adds to the record, those behind it see.
  virtual void after_epoch(const EpochEnd& /*end*/) {}

  /// At the start, after every outer batch and after every epoch's record: points from which the training can
  /// be continued. Whether it goes on.
  virtual bool goes_on(const TrainState& /*state*/) { return true; }
};

}  // namespace batchplus
