#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace batchplus {

/// Where a dataset is: a folder with its files, or the official archive of them.
struct DatasetLocation {
  std::filesystem::path path;
  bool is_archive = false;

  bool operator==(const DatasetLocation&) const = default;
};

struct DatasetFile {
  std::string bytes;
  /// Names it in errors.
  std::string where;
};

/// The named files, in that order. A file that is not in the folder may be there with .gz behind its name.
std::vector<DatasetFile> read_dataset_files(const DatasetLocation& location,
                                            const std::vector<std::string>& names);

/// `folder`/`name`, or the same with .gz if only that exists.
std::filesystem::path plain_or_gzip(const std::filesystem::path& folder, const std::string& name);

}  // namespace batchplus
