#include "datasets/dataset_files.h"

#include <fmt/format.h>

#include "formats/archive.h"
#include "util/file.h"

namespace batchplus {
namespace fs = std::filesystem;

std::vector<DatasetFile> read_dataset_files(const DatasetLocation& location,
                                            const std::vector<std::string>& names) {
  std::vector<DatasetFile> files;
  if (location.is_archive) {
    ArchiveFiles members =
        read_tar(read_file(location.path), {names.begin(), names.end()}, location.path.string());
    for (const auto& name : names)
      files.push_back({std::move(members[name]), fmt::format("{}, {}", location.path.string(), name)});
  } else {
    for (const auto& name : names) {
      const fs::path path = plain_or_gzip(location.path, name);
      files.push_back({read_file(path), path.string()});
    }
  }
  return files;
}

fs::path plain_or_gzip(const fs::path& folder, const std::string& name) {
  const fs::path zipped = folder / (name + ".gz");
  return !fs::exists(folder / name) && fs::exists(zipped) ? zipped : folder / name;
}

}  // namespace batchplus
