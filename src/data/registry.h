#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace batchplus {

/// A row of the table of datasets.
struct DatasetInfo {
  std::string name;
  std::string description;
  int64_t classes;
  int64_t channels;
  int64_t side;
  /// What `--normalize auto` means.
  Normalization normalization;
  /// What `--augment auto` means.
  bool is_augmented_by_default;
  /// Its folder in the data directory; empty when it is made in memory.
  std::string folder;
  /// Another place where the system may have it; may be empty.
  std::filesystem::path system_folder;
  /// The files that must be there; an idx file may have .gz behind its name.
  std::vector<std::string> files;
  /// What to do when it is missing.
  std::string how_to_get;
  std::function<Dataset(const std::filesystem::path& folder)> load;
};

const std::vector<DatasetInfo>& datasets();

/// The row with that name, or an Error that suggests the nearest one.
const DatasetInfo& find_dataset(const std::string& name);

/// `given` if not empty, else $BATCHPLUS_DATA, $XDG_CACHE_HOME/batchplus or ~/.cache/batchplus.
/// A directory that was given and does not exist is an Error.
std::filesystem::path data_directory(const std::string& given);

/// The folder that holds all files of the dataset: in the data directory, the data directory itself, or the
/// system's folder. Nothing when it is not there; for a dataset made in memory the data directory.
std::optional<std::filesystem::path> locate(const DatasetInfo& info, const std::filesystem::path& directory);

/// Locates, verifies against SHA256SUMS where there is one, and loads.
Dataset load_dataset(const DatasetInfo& info, const std::filesystem::path& directory);

/// auto, none, imagenet, or M,M,M/S,S,S.
Normalization parse_normalization(const std::string& text, const DatasetInfo& info);

}  // namespace batchplus
