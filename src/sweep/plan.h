#pragma once

#include <memory>

#include "config/spec.h"
#include "core/torch.h"
#include "run/run_plan.h"

namespace batchplus {

/// A run of a sweep with what it will cost.
struct PlannedRun {
  SpecRun run;
  /// What its config means.
  std::shared_ptr<const RunPlan> plan;
  int64_t sample_gradients = 0;
  /// Of b samples each.
  double gradient_evaluations = 0;
  /// On this machine, training alone; 0 when it was not calibrated.
  double estimated_seconds = 0;
  /// For activations, weights, gradients and snapshots.
  double memory_bytes = 0;
};

/// Counts what every run costs, without loading data. An Error when runs that the spec calls equal differ by
/// more than one outer batch, or when a config is wrong.
std::vector<PlannedRun> plan_sweep(const Spec& spec, const std::string& scale);

/// Fills in seconds from a gradient of each network and batch size, timed on this machine, and memory.
void calibrate(std::vector<PlannedRun>& runs, torch::Device device);

}  // namespace batchplus
