#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datasets/checksums.h"
#include "datasets/dataset_files.h"
#include "datasets/labelled_images.h"
#include "datasets/normalization.h"
#include "datasets/npm_package.h"
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
  /// Of the published set; of a folder's pictures 0.
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
  /// Reads its files. Empty where no list of files makes up the samples: what is made in memory, and folders
  /// of pictures.
  std::function<LabelledImages(const DatasetLocation&)> read;
};

const std::vector<DatasetInfo>& datasets();

/// The row with that name, or the row of folder:PATH; an Error that suggests the nearest name otherwise.
DatasetInfo find_dataset(const std::string& name);

/// The same name, whatever directory it is read in: the path of folder:PATH made absolute.
std::string absolute_dataset(const std::string& name);

}  // namespace batchplus
