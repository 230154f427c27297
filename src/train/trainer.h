#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/gradient_budget.h"
#include "data/batch_pipeline.h"
#include "methods/method.h"
#include "methods/schedule.h"
#include "metrics/quantity.h"
#include "objective/evaluate.h"
#include "objective/gradient_oracle.h"

namespace batchplus {

struct TrainOptions {
  double learning_rate = 0.1;
  Schedule schedule = {};
  /// Passes over the training samples; unlimited when only a budget is given.
  std::optional<int64_t> epochs = std::nullopt;
  /// Training ends before the outer batch that would exceed so many sample gradients.
  std::optional<int64_t> budget_sample_gradients = std::nullopt;
  /// The first so many epochs run the warm-up method with its own learning rate.
  int64_t warmup_epochs = 0;
  double warmup_learning_rate = 0.1;
  /// Evaluate after every so many epochs, and at the end.
  int64_t eval_every = 1;
  /// The same for measuring.
  int64_t metrics_every = 1;
};

/// Where a run stands after an epoch, or after the part of one that the budget allowed.
struct EpochRecord {
  /// Passes done, with the fraction of an unfinished one.
  double epoch = 0;
  int64_t outer_steps = 0;
  int64_t inner_steps = 0;
  int64_t sample_gradients = 0;
  double learning_rate = 0;
  /// Mean loss over the gradients of the epoch, in training mode, as they were computed.
  double running_loss = 0;
  std::optional<Evaluation> validation;
  std::optional<Evaluation> test;
  /// What was measured after this epoch or during it.
  std::vector<Quantity> metrics;
  /// Seconds spent training so far, evaluation and measuring excluded.
  double train_seconds = 0;
  /// Seconds spent measuring so far.
  double metrics_seconds = 0;
};

/// Where a run stands between two outer batches. With the weights and the state of the parts it is all that
/// a continuation depends on; of `last`, what an epoch's end does not compute anew.
struct TrainState {
  int64_t epoch = 0;
  /// Outer batches of the epoch that are done.
  int64_t outer_batches = 0;
  /// Nothing is left to train, and the last epoch has its record.
  bool is_over = false;
  EpochRecord last;
  std::optional<double> best_test_accuracy;
};

struct TrainResult {
  bool is_diverged = false;
  /// The observer ended it.
  bool is_interrupted = false;
  EpochRecord last;
  std::optional<double> best_test_accuracy;
};

/// What the loop tells while it runs.
struct TrainObserver {
  std::function<void(const EpochRecord&)> on_epoch;
  /// Sample gradients done and expected in all, and a label.
  std::function<void(double done, double total, const std::string& label)> on_progress;
  /// At the start, after every outer batch, and after the record of an epoch. What it is told can be
  /// continued from; false ends the run there.
  std::function<bool(const TrainState&)> on_boundary = nullptr;
};

/// The training loop: epochs of outer batches until the epochs or the budget are spent, or a weight or a loss
/// is not finite.
class Trainer {
 public:
  /// What takes part; all of it outlives the trainer.
  struct Parts {
    BatchPipeline& batches;
    GradientOracle& oracle;
    GradientBudget& budget;
    Method& method;
    /// Null without warm-up.
    Method* warmup_method;
    std::function<Evaluation()> evaluate_test;
    /// Empty without validation samples.
    std::function<Evaluation()> evaluate_validation = nullptr;
    /// What there is to record about an epoch; `is_due` says whether it is one to measure after. Empty
    /// without metrics.
    std::function<std::vector<Quantity>(bool is_due)> measure = nullptr;
  };

  Trainer(Parts parts, TrainOptions options, TrainObserver observer);
  /// From the beginning, or from where an earlier run was, whose weights and parts' states are in place.
  TrainResult run(const TrainState& from = {});

 private:
  Method& method_of(int64_t epoch) const;
  double learning_rate(int64_t epoch, double progress) const;
  double progress(int64_t epoch, int64_t outer_batch) const;
  bool fits_budget(int64_t cost) const;
  /// Sample gradients that the whole run will cost.
  int64_t expected_cost();
  /// The rest of the present epoch; false when the run ends within it or with it.
  bool run_epoch();
  void finish_epoch(bool is_last);
  /// Whether the run goes on.
  bool is_wanted();

  Parts parts_;
  TrainOptions options_;
  TrainObserver observer_;
  TrainState state_;
  bool is_diverged_ = false;
  bool is_interrupted_ = false;
  int64_t expected_cost_ = 0;
};

}  // namespace batchplus
