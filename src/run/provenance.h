#pragma once

#include "run/run.h"

namespace batchplus {

/// Whether what this process computes has the bits that any other machine gives too.
bool gives_portable_bits(const RunPlan& plan, const RunEnvironment& environment);

/// What runs: program version and commit, library versions, compiler, processor and its instruction set, the
/// revision of own kernels, threads, processes and how they add up, device.
Json provenance(const RunPlan& plan, const RunEnvironment& environment);

}  // namespace batchplus
