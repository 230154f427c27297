#include "datasets/find_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

bool is_complete(const DatasetInfo& info, const fs::path& folder) {
  return std::all_of(info.files.begin(), info.files.end(),
                     [&](const auto& name) { return fs::exists(plain_or_gzip(folder, name)); });
}

/// Who has a part of a dataset would get the results of another copy without knowing. A link that leads
/// nowhere is a part, too.
void require_no_part(const DatasetInfo& info, const fs::path& folder) {
  const auto is_named = [&](const std::string& name) {
    return fs::exists(fs::symlink_status(folder / name)) ||
           fs::exists(fs::symlink_status(folder / (name + ".gz")));
  };
  if (std::none_of(info.files.begin(), info.files.end(), is_named)) return;
  std::vector<std::string> missing = info.files;
  std::erase_if(missing, [&](const auto& name) { return fs::exists(plain_or_gzip(folder, name)); });
  throw Error(
      fmt::format("the copy of {} is not complete", info.name),
      {folder.string(), fmt::format("{} {} missing", join(missing, ", "), missing.size() == 1 ? "is" : "are"),
       "add what is missing, or move the other files of the dataset away"});
}

}  // namespace

fs::path data_directory(const std::string& given) {
  if (!given.empty()) {
    if (!fs::is_directory(given)) {
      throw Error("no such data directory", {"data_dir", given, "create it, or name another one"});
    }
    return given;
  }
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const auto data = environment("BATCHPLUS_DATA"); !data.empty()) return data;
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "batchplus";
  if (const auto home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "batchplus";
  throw Error(
      "nothing says where datasets are",
      {"data_dir", "$BATCHPLUS_DATA, $XDG_CACHE_HOME and $HOME are not set", "set one, or give {data_dir}"});
}

std::optional<DatasetLocation> locate(const DatasetInfo& info, const fs::path& directory) {
  if (info.files.empty()) return DatasetLocation{info.system_folder};
  const fs::path folder = directory / info.folder;
  if (is_complete(info, folder)) return DatasetLocation{folder};
  require_no_part(info, folder);
  if (is_complete(info, directory)) return DatasetLocation{directory};
  const fs::path archive = directory / info.sources.archive;
  const bool has_archive = !info.sources.archive.empty() && fs::exists(archive);
  const bool is_installed = !info.system_folder.empty() && is_complete(info, info.system_folder);
  if (!has_archive && !is_installed) return std::nullopt;
  // Other datasets have files of the same names, so a part here only stands in the way of another copy.
  require_no_part(info, directory);
  return has_archive ? DatasetLocation{archive, true} : DatasetLocation{info.system_folder};
}

}  // namespace batchplus
