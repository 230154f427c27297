#pragma once

#include <filesystem>

#include "data/dataset.h"
#include "datasets/registry.h"

namespace batchplus {

/// Locates, verifies against SHA256SUMS where there is one, loads, and checks that it is what the row says.
Dataset load_dataset(const DatasetInfo& info, const std::filesystem::path& directory);

/// The row of what was loaded: files of one's own may hold another number of samples than the published set,
/// and the normalisation of a folder's pictures is measured.
DatasetInfo describe(DatasetInfo info, const Dataset& dataset);

}  // namespace batchplus
