#pragma once

#include <string>
#include <vector>

#include "run/run_plan.h"

namespace batchplus {

/// What to do about a momentum that no step has.
inline constexpr const char* kNoMomentumHint =
    "no step has momentum: leave it out, or choose {update_rule} heavy-ball or nesterov";

/// An Error when one of the keys, which somebody gave by hand, changes nothing about the run: a momentum
/// where steps are plain, a radius without sam. Files may hold such keys, because they are shared between
/// methods.
void require_read(const RunPlan& plan, const std::vector<std::string>& keys);

}  // namespace batchplus
