#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/checksums.h"
#include "data/dataset.h"
#include "data/dataset_files.h"
#include "data/npm_package.h"
#include "util/download.h"

namespace batchplus {

/// Where a dataset comes from and how to know it.
struct DatasetSources {
  /// The official archive, which is also read as it is; empty when the files are published one by one.
  std::string archive = "";
  /// The archive, or the files, perhaps with .gz.
  std::vector<RemoteFile> official = {};
  std::optional<NpmPackage> npm = std::nullopt;
  /// Of the official files, unpacked; those that are known.
  Checksums checksums = {};
};

/// A row of the table of datasets.
struct DatasetInfo {
  std::string name;
  std::string description;
  int64_t classes;
  int64_t channels;
  int64_t side;
  /// Of the published set, or of a folder's pictures.
  int64_t train_samples;
  /// Of the published set; 0: nothing is published.
  int64_t test_samples;
  /// What `--normalize auto` means; measured on the training images when empty.
  Normalization normalization;
  /// What `--augment auto` means.
  bool is_augmented_by_default;
  /// Its folder in the data directory; empty when it is not one of the directory's.
  std::string folder;
  /// Another place where it may be; may be empty.
  std::filesystem::path system_folder;
  /// The files that must be there; each may have .gz behind its name.
  std::vector<std::string> files;
  DatasetSources sources;
  /// What to do when it is missing.
  std::string how_to_get;
  std::function<Dataset(const DatasetLocation&)> load;
};

const std::vector<DatasetInfo>& datasets();

/// The row with that name, or the row of folder:PATH; an Error that suggests the nearest name otherwise.
DatasetInfo find_dataset(const std::string& name);

/// The same name, whatever directory it is read in: the path of folder:PATH made absolute.
std::string absolute_dataset(const std::string& name);

/// `given` if not empty, else $BATCHPLUS_DATA, $XDG_CACHE_HOME/batchplus or ~/.cache/batchplus.
/// A directory that was given and does not exist is an Error, and so is a user without a home.
std::filesystem::path data_directory(const std::string& given);

/// The folder that holds all files of the dataset, in the data directory or that directory itself, or else
/// its archive there. The system's folder, if the data directory has none of them. Nothing when it is not
/// there; an Error when a part of it is in the data directory.
std::optional<DatasetLocation> locate(const DatasetInfo& info, const std::filesystem::path& directory);

/// How far the files are known to be right.
enum class Verification {
  /// They have the published checksums.
  kOfficial,
  /// They have the checksums that were noted when they were fetched.
  kAsFetched,
  /// Their layout and labels are right; nothing is known to compare them with.
  kLayout,
};
std::string to_string(Verification verification);

/// Compares with every checksum that is known. A file that was fetched and has changed is an Error, and so is
/// one of another dataset.
Verification verify_files(const DatasetInfo& info, const DatasetLocation& location);

/// Loads it and checks that it is what the row says.
Dataset load_dataset_at(const DatasetInfo& info, const DatasetLocation& location);

/// Locates, verifies against SHA256SUMS where there is one, and loads.
Dataset load_dataset(const DatasetInfo& info, const std::filesystem::path& directory);

/// The row of what was loaded: files of one's own may hold another number of samples than the published set,
/// and the normalisation of a folder's pictures is measured.
DatasetInfo describe(DatasetInfo info, const Dataset& dataset);

/// auto, none, imagenet, or M,M,M/S,S,S.
Normalization parse_normalization(const std::string& text, const DatasetInfo& dataset);

}  // namespace batchplus
