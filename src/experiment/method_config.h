#pragma once

#include "experiment/run_config.h"
#include "methods/method.h"
#include "objective/gradient_oracle.h"
#include "objective/snapshot.h"

namespace batchplus {

/// Fills in what was left to the method's defaults. `n` is the number of training samples.
void resolve_method(RunConfig& config, int64_t n);

/// Whether and how the snapshot's inner gradients are kept.
SnapshotOptions snapshot_options(const RunConfig& config);

/// The outer batch size that "256", "2x" or "all" means.
int64_t parse_outer_batch(const std::string& text, int64_t inner_batch, int64_t samples);

/// The configuration of the warm-up epochs: the warm-up method with its own defaults.
RunConfig warmup_config(RunConfig config, int64_t n);

/// The method of a resolved config.
Method build_method(const RunConfig& config, GradientOracle& oracle);

/// Sample gradients that the run of a resolved config will cost, with d parameters.
int64_t count_sample_gradients(const RunConfig& config, int64_t n, int64_t parameters);

/// Sample gradients of one full outer batch of a resolved config.
int64_t count_outer_batch(const RunConfig& config, int64_t parameters);

}  // namespace batchplus
