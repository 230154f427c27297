#pragma once

#include <optional>
#include <string>

#include "metrics/implicit_regularization.h"
#include "run/run_plan.h"

namespace batchplus {

/// How a method's steps regularise, or why docs/theory.md does not say.
struct ImplicitTraining {
  std::optional<ImplicitRegularization> training = {};
  std::string why_not = {};
};

/// `progress`: the fraction of the training that is done, for a coefficient that decays.
ImplicitTraining implicit_training(const MethodPlan& method, const DataPlan& data, double learning_rate,
                                   double progress);

/// Where a run is.
struct TrainingPoint {
  double epochs_done = 0;
  int64_t sample_gradients = 0;
  /// Of the last outer batch.
  double learning_rate = 0;
};

/// Of the method that runs there: the warm-up's or the run's own.
ImplicitTraining implicit_training_at(const RunPlan& plan, const TrainingPoint& point);

}  // namespace batchplus
