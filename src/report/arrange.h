#pragma once

#include <filesystem>
#include <vector>

#include "report/comparison.h"

namespace batchplus {

/// The run directory that this is, and those below it, in the order of their names, also those that have lost
/// their status.json. Links to folders are not followed. An Error when there is none.
std::vector<std::filesystem::path> find_runs_below(const std::filesystem::path& path);

/// The run directories among these, and those below the others, each once, in the order of their names. An
/// Error for a path that has none.
std::vector<std::filesystem::path> find_runs(const std::vector<std::filesystem::path>& paths);

/// A comparison of runs without a spec: the keys in which their configs differ are the axes, the method last;
/// runs that differ in the seed alone share a cell. Keys that follow from the others, like the coefficient
/// from the method, are left out, with a note. Keys of data and network never follow from the method.
Comparison arrange_runs(const std::vector<std::filesystem::path>& runs);

}  // namespace batchplus
