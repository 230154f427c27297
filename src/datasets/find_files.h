#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "datasets/registry.h"

namespace batchplus {

/// `given` if not empty, else $BATCHPLUS_DATA, $XDG_CACHE_HOME/batchplus or ~/.cache/batchplus.
/// A directory that was given and does not exist is an Error, and so is a user without a home.
std::filesystem::path data_directory(const std::string& given);

/// The folder that holds all files of the dataset, in the data directory or that directory itself, or else
/// its archive there. The system's folder, if the data directory has none of them. Nothing when it is not
/// there; an Error when a part of it is in the data directory.
std::optional<DatasetLocation> locate(const DatasetInfo& info, const std::filesystem::path& directory);

}  // namespace batchplus
