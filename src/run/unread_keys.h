#pragma once

#include <string>
#include <vector>

#include "run/run_plan.h"

namespace batchplus {

/// An Error when one of the keys, which somebody gave by hand, changes nothing about the run: a momentum
/// where steps are plain, a radius without sam. Files may hold such keys, because they are shared between
/// methods.
void require_read(const RunPlan& plan, const std::vector<std::string>& keys);

}  // namespace batchplus
