#include "store/own_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/own_checksum.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFiles = "files";

/// What an earlier result says; nothing when the file is none of one, or was changed. Older ones have no
/// checksums.
Json read_earlier(const OwnFiles& own, const fs::path& folder) {
  if (!fs::exists(folder / own.json)) return {};
  Json json = Json::parse(read_file(folder / own.json), nullptr, /*allow_exceptions=*/false);
  const bool is_own =
      json.is_object() && std::all_of(own.keys.begin(), own.keys.end(),
                                      [&](const std::string& key) { return json.contains(key); });
  if (!is_own) return {};
  return take_own_checksum(json).value_or(true) ? json : Json();
}

/// Whether a file beside the JSON is the one that was written with it.
bool is_as_written(const Json& earlier, const fs::path& folder, const std::string& file) {
  if (earlier.is_null()) return false;
  if (!earlier.contains(kFiles)) return true;
  const Json& files = earlier[kFiles];
  return files.is_object() && files.contains(file) && files[file] == hash_file(folder / file);
}

}  // namespace

void require_free_for(const OwnFiles& own, const fs::path& folder) {
  make_directories(folder);
  std::vector<std::string> files = {own.json};
  files.insert(files.end(), own.others.begin(), own.others.end());
  for (const std::string& file : files) require_replaceable(folder / file, "");
  const Json earlier = read_earlier(own, folder);
  for (const std::string& file : files) {
    if (!fs::exists(folder / file)) continue;
    if (file == own.json ? !earlier.is_null() : is_as_written(earlier, folder, file)) continue;
    throw Error(fmt::format("the file is not of an earlier {}, or was changed since", own.kind),
                {"out", (folder / file).string(),
                 fmt::format("name an empty folder, or one that holds an earlier {}", own.kind)});
  }
}

void write_own_files(const OwnFiles& own, const fs::path& folder, Json json,
                     const std::map<std::string, std::string>& others) {
  Json files = Json::object();
  for (const auto& [name, bytes] : others) files[name] = sha256_hex(bytes);
  json[kFiles] = std::move(files);
  add_own_checksum(json);
  // All of them are on the disk before one takes the place of another, so that a full disk leaves the old
  // ones. Old and new ones never lie beside each other, even if the process is killed here.
  std::vector<std::unique_ptr<PendingFile>> pending;
  pending.push_back(std::make_unique<PendingFile>(folder / own.json, json.dump(1) + "\n"));
  for (const auto& [name, bytes] : others)
    pending.push_back(std::make_unique<PendingFile>(folder / name, bytes));
  for (const std::string& name : own.others) fs::remove(folder / name);
  for (const auto& file : pending) file->commit();
}

}  // namespace batchplus
