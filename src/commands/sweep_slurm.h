#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "sweep/slurm.h"

namespace batchplus {

/// Submits the runs that have no result and says so. `line` is the command of a run without its index.
void submit_sweep(const Sweep& sweep, const std::vector<std::string>& line, const SlurmOptions& slurm,
                  const GlobalOptions& options);

}  // namespace batchplus
