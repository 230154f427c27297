#include "store/own_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "util/file.h"
#include "util/json.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

bool holds_earlier(const OwnFiles& own, const fs::path& folder) {
  if (!fs::exists(folder / own.json)) return false;
  const Json json = Json::parse(read_file(folder / own.json), nullptr, /*allow_exceptions=*/false);
  return json.is_object() && std::all_of(own.keys.begin(), own.keys.end(),
                                         [&](const std::string& key) { return json.contains(key); });
}

}  // namespace

void require_free_for(const OwnFiles& own, const fs::path& folder) {
  make_directories(folder);
  std::vector<std::string> files = own.others;
  files.push_back(own.json);
  for (const std::string& file : files) {
    require_replaceable(folder / file, "");
    if (!fs::exists(folder / file) || holds_earlier(own, folder)) continue;
    throw Error(fmt::format("the file is not of an earlier {}", own.kind),
                {"out", (folder / file).string(),
                 fmt::format("name an empty folder, or one that holds an earlier {}", own.kind)});
  }
}

}  // namespace batchplus
