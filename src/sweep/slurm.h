#pragma once

#include <string>
#include <vector>

#include "sweep/sweep.h"

namespace batchplus {

/// Writes sweep.slurm into the sweep's directory, a job array with one task a run, and submits it. `command`
/// is that of a task, to which the task's number is added as the last word. Returns what sbatch printed; an
/// Error where it fails, and then the script is still there.
std::string submit_to_slurm(const Sweep& sweep, const std::vector<std::string>& command, int threads);

}  // namespace batchplus
