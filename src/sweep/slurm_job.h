#pragma once

#include <string>

namespace batchplus {

/// Puts the Slurm job that this process is in back into Slurm's queue, from which it starts again, and says
/// what was done. A job that was cancelled, or that Slurm itself is about to queue again, is left alone.
std::string requeue_own_job();

}  // namespace batchplus
