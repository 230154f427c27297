#pragma once

#include <filesystem>

#include "config/sweep_file.h"
#include "config/sweep_request.h"
#include "report/comparison.h"

namespace batchplus {

/// The comparison that the sweep.json of a directory describes. An Error when there is none.
Comparison compare_sweep(const std::filesystem::path& directory);

/// The same of a description that was read.
Comparison compare_sweep(const SweepFile& sweep, const std::filesystem::path& directory);

/// The comparison of the sweep that a request for a spec means. Its settings need not be repeated; where they
/// are, an Error unless the sweep was run with them.
Comparison compare_spec(const SweepRequest& request, const Spec& spec);

}  // namespace batchplus
