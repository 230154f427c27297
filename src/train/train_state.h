#pragma once

#include <optional>
#include <vector>

#include "metrics/quantity.h"
#include "objective/evaluate.h"

namespace batchplus {

/// Where a run stands after an epoch, or after the part of one that the budget allowed.
struct EpochRecord {
  /// With the fraction of an unfinished one.
  double epochs_done = 0;
  int64_t outer_steps = 0;
  int64_t inner_steps = 0;
  int64_t sample_gradients = 0;
  double learning_rate = 0;
  /// Mean loss over the gradients of the epoch, in training mode, as they were computed.
  double running_loss = 0;
  std::optional<Evaluation> validation = {};
  std::optional<Evaluation> test = {};
  /// What was measured after this epoch or during it.
  std::vector<Quantity> metrics = {};
  /// Seconds spent training so far, evaluation and measuring excluded.
  double train_seconds = 0;
  /// Seconds spent measuring so far.
  double metrics_seconds = 0;
};

/// Where a run stands between two outer batches. With the weights and the state of the parts it is all that
/// a continuation depends on; of `last`, what an epoch's end does not compute anew.
struct TrainState {
  /// The present epoch, counted from 0.
  int64_t epoch_index = 0;
  /// Outer batches of the epoch that are done.
  int64_t outer_batches = 0;
  /// Nothing is left to train, and the last epoch has its record.
  bool is_over = false;
  EpochRecord last = {};
  std::optional<double> best_test_accuracy = {};
};

}  // namespace batchplus
