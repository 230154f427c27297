#pragma once

#include "cli/torch_commands.h"

namespace batchplus {

/// What the commands do that compute with libtorch; each returns the exit code.
int run_train(const TrainCommand& command, const GlobalOptions& options);
int run_eval(const EvalCommand& command, const GlobalOptions& options);
int run_measure(const MeasureCommand& command, const GlobalOptions& options);
int run_models(const ModelsCommand& command, const GlobalOptions& options);
int run_sweep(const SweepCommand& command, const GlobalOptions& options);
int run_data_show(const DataCommand& command, const GlobalOptions& options);

/// The registries in words.
Catalog list_catalog();

}  // namespace batchplus
