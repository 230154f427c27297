#pragma once

#include "checkpoint/continuation.h"
#include "run/run_plan.h"

namespace batchplus {

/// Lets a run, ended or not, go on to the larger number of epochs, or budget, that the plan has: what it did
/// so far becomes the beginning of that longer run. Says whether there is anything to change: the run may
/// have the plan's limit already. An Error with the reason where the longer run would have begun differently.
bool extend(const RunPlan& plan, const RunLayout& layout, Continuation& run);

}  // namespace batchplus
