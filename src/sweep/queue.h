#pragma once

#include <vector>

#include "config/spec.h"
#include "run/run.h"
#include "store/sweep_directory.h"

namespace batchplus {

/// Runs one run unless it is finished, has failed before or belongs to another process. An unfinished one
/// that nobody works on is resumed. What goes wrong is noted and not thrown. Returns whether it ran.
bool run_one(const SweepDirectory& directory, const SpecRun& run, const RunEnvironment& environment);

/// Runs all that are waiting, pass after pass, until none is left to take or a signal stops it.
void run_worker(const SweepDirectory& directory, const std::vector<SpecRun>& runs,
                const RunEnvironment& environment);

/// Lets the runs that failed be tried again.
void forget_failures(const SweepDirectory& directory, const std::vector<SpecRun>& runs);

}  // namespace batchplus
