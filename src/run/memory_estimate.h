#pragma once

#include "networks/model.h"
#include "run/run_plan.h"

namespace batchplus {

/// What the memory of a run depends on besides its plan.
struct NetworkMemory {
  /// What a step takes for each sample: activations and their gradients.
  double sample_bytes = 0;
  int64_t parameters = 0;
};

/// Measured in a step of a few samples.
NetworkMemory measure_network_memory(const Model& model, const DatasetInfo& info);

/// What a run takes at its peak: the program, the dataset while it is read, outer batches, activations,
/// weights, gradients and snapshots.
double estimate_memory(const RunPlan& plan, const NetworkMemory& network);

/// An Error with the numbers when the run needs more than there is.
void require_memory(const RunPlan& plan);

}  // namespace batchplus
