#pragma once

#include <optional>
#include <vector>

#include "core/gradient_budget.h"
#include "data/batch_pipeline.h"
#include "methods/method.h"
#include "methods/schedule.h"
#include "objective/gradient_oracle.h"
#include "train/callback.h"

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
};

struct TrainResult {
  bool is_diverged = false;
  /// A callback ended it.
  bool is_interrupted = false;
  EpochRecord last;
  std::optional<double> best_test_accuracy;
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
  };

  Trainer(Parts parts, TrainOptions options, std::vector<TrainCallback*> callbacks);
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
  /// Whether all callbacks let the run go on.
  bool is_wanted();

  Parts parts_;
  TrainOptions options_;
  std::vector<TrainCallback*> callbacks_;
  TrainState state_;
  bool is_diverged_ = false;
  bool is_interrupted_ = false;
  int64_t expected_cost_ = 0;
};

}  // namespace batchplus
