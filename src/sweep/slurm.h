#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep/slurm_script.h"
#include "sweep/sweep.h"

namespace batchplus {

struct SlurmSubmission {
  /// Job arrays, by Slurm's numbers; none when every run has a result.
  std::vector<std::string> jobs;
  int64_t runs = 0;
};

std::filesystem::path slurm_script_of(const SweepDirectory& directory);

/// An Error when there is a file in the place of the script that is somebody's own.
void require_own_slurm_script(const SweepDirectory& directory);

/// Writes the script of a job array into the sweep's directory and submits it, with one task for each run
/// that has no result; several times where Slurm allows no array so large. `command` is that of a run, to
/// which its index is added as the last word. An Error where Slurm refuses says how to submit the rest by
/// hand.
SlurmSubmission submit_to_slurm(const Sweep& sweep, const std::vector<std::string>& command,
                                const SlurmOptions& options);

}  // namespace batchplus
