#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "sweep/slurm.h"

namespace batchplus {

/// `sweep --slurm`, as the options say.
struct SlurmCommand {
  bool is_asked = false;
  SlurmOptions options;
};

/// Adds --slurm and what goes with it. Returns --slurm's own, for those that do not.
CLI::Option* add_slurm_options(CLI::App& sweep, SlurmCommand& command);

/// Submits the runs that have no result and says so. `line` is the command of a run without its index.
void submit_sweep(const Sweep& sweep, const std::vector<std::string>& line, const SlurmOptions& slurm,
                  const GlobalOptions& options);

}  // namespace batchplus
