#pragma once

#include <filesystem>

#include "report/comparison.h"

namespace batchplus {

/// The comparison that the sweep.json of a directory describes. An Error when there is none.
Comparison compare_sweep(const std::filesystem::path& directory);

}  // namespace batchplus
