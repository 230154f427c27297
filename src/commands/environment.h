#pragma once

#include "cli/command.h"
#include "core/torch.h"

namespace batchplus {

/// For commands that compute, before they do: cpu, cuda or cuda:I. An Error when this libtorch cannot use it,
/// or when this process has two OpenMP runtimes.
torch::Device device_to_compute_on(const GlobalOptions& options);

/// Sets the number of threads.
void apply_threads(const GlobalOptions& options);

}  // namespace batchplus
