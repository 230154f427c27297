#pragma once

#include "data/registry.h"
#include "experiment/run_config.h"
#include "networks/model.h"

namespace batchplus {

/// The network of a config, from what is published about its dataset; no data is read.
Model network_of(const RunConfig& config, const DatasetInfo& info);

/// What the memory of a run depends on besides its config.
struct NetworkMemory {
  /// What a step takes for each sample: activations and their gradients.
  double sample_bytes = 0;
  int64_t parameters = 0;
};

/// Measured in a step of a few samples.
NetworkMemory measure_network_memory(const Model& model, const DatasetInfo& info);

/// What a run takes at its peak: the program, the dataset while it is read, outer batches, activations,
/// weights, gradients and snapshots. `n` is the number of training samples.
double estimate_memory(const RunConfig& config, int64_t n, const DatasetInfo& info,
                       const NetworkMemory& network);

/// An Error with the numbers when the run needs more than there is.
void require_memory(const RunConfig& config, int64_t n);

}  // namespace batchplus
