#include "report/report_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "util/error.h"
#include "util/file.h"
#include "util/first_few.h"
#include "util/hash.h"
#include "util/json.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr const char* kList = "files.json";
constexpr const char* kLock = "report.lock";
constexpr const char* kFormatVersion = "report_files_version";
constexpr const char* kFiles = "files";
constexpr std::array kFolders = {"tables", "figures"};

std::string folder_of(const std::string& place) {
  return fs::path(place).parent_path().string();
}

/// A link that leads nowhere is something too.
bool is_something(const fs::path& path) {
  return fs::symlink_status(path).type() != fs::file_type::not_found;
}

/// Whether a report may have a file there. Lists can be changed by hand, and lead nowhere else.
bool is_place_of_report(const std::string& place) {
  const fs::path path = place;
  const bool is_in_folder =
      std::find(kFolders.begin(), kFolders.end(), path.parent_path().string()) != kFolders.end();
  const std::string name = path.filename().string();
  const bool has_name = !name.empty() && name != "." && name != "..";
  return has_name && (place == name || (is_in_folder && place == folder_of(place) + "/" + name));
}

/// What files.json says; nothing when it is none of a report.
std::optional<std::map<std::string, std::set<std::string>>> read_list(const fs::path& root) {
  if (fs::symlink_status(root / kList).type() != fs::file_type::regular) return std::nullopt;
  const Json json = Json::parse(read_file(root / kList), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains(kFormatVersion) || !json.contains(kFiles)) return std::nullopt;
  std::map<std::string, std::set<std::string>> list;
  for (const auto& [place, checksums] : json[kFiles].items()) {
    if (!is_place_of_report(place) || !checksums.is_array()) continue;
    for (const Json& checksum : checksums) {
      if (checksum.is_string()) list[place].insert(checksum.get<std::string>());
    }
  }
  return list;
}

/// Files are not written through a link, to wherever it leads.
void require_folder(const fs::path& folder) {
  const fs::file_status status = fs::symlink_status(folder);
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::directory) return;
  const bool is_link = status.type() == fs::file_type::symlink;
  throw Error(is_link ? "a report does not write through a symbolic link" : "not a directory",
              {folder.string(), is_link ? "it leads to " + fs::read_symlink(folder).string() : "",
               "remove it, or name another directory by {out}"});
}

}  // namespace

void require_place_for_report(const fs::path& root) {
  if (read_list(root)) return;
  for (const char* name : {"index.html", "report.md", "tables", "figures", kList}) {
    if (!is_something(root / name)) continue;
    throw Error(
        "the directory holds something that is not a report, or one from before there was files.json",
        {"out", (root / name).string(), "name another directory, or remove the report from before yourself"});
  }
}

ReportDirectory::ReportDirectory(fs::path root) : root_(std::move(root)) {
  make_directories(root_);
  lock_ = FileLock::try_lock(root_ / kLock);
  if (!lock_) {
    throw Error(
        "another process is writing a report there",
        {root_.string(), holder_of(root_ / kLock), "wait for it, or name another directory by {out}"});
  }
  lock_->sign();
  require_place_for_report(root_);
  earlier_ = read_list(root_).value_or(Checksums());
}

bool ReportDirectory::has_earlier(const std::string& folder) const {
  return std::any_of(earlier_.begin(), earlier_.end(), [&](const auto& entry) {
    return folder_of(entry.first) == folder && is_something(root_ / entry.first);
  });
}

bool ReportDirectory::is_as_written(const std::string& place) const {
  const auto entry = earlier_.find(place);
  const bool is_file = fs::symlink_status(root_ / place).type() == fs::file_type::regular;
  return is_file && entry != earlier_.end() && entry->second.contains(hash_file(root_ / place));
}

void ReportDirectory::require_free(const ReportFiles& files) const {
  std::vector<std::string> foreign;
  for (const auto& [place, bytes] : files) {
    if (!folder_of(place).empty()) require_folder(root_ / folder_of(place));
    require_replaceable(root_ / place, "");
    const bool is_free =
        !is_something(root_ / place) || is_as_written(place) || read_file(root_ / place) == bytes;
    if (!is_free) foreign.push_back(place);
  }
  if (foreign.empty()) return;
  throw Error(
      "the report would replace files that are not as a report wrote them",
      {root_.string(), first_few(foreign), "move them elsewhere, or name another directory by {out}"});
}

void ReportDirectory::write_list(const Checksums& checksums) const {
  Json files = Json::object();
  for (const auto& [place, sums] : checksums) files[place] = sums;
  write_file_atomically(root_ / kList, Json{{kFormatVersion, 1}, {kFiles, std::move(files)}}.dump(1) + "\n");
}

void ReportDirectory::replace(const ReportFiles& files, const std::string& kept_folder) {
  require_free(files);
  Checksums all = earlier_;
  Checksums present;
  for (const auto& [place, bytes] : files) {
    const std::string checksum = sha256_hex(bytes);
    all[place].insert(checksum);
    present[place] = {checksum};
  }
  // A report that is cut short between the two lists has files of both reports.
  write_list(all);
  for (const auto& [place, bytes] : files) {
    make_directories((root_ / place).parent_path());
    write_file_atomically(root_ / place, bytes);
  }
  for (const auto& [place, checksums] : earlier_) {
    if (files.contains(place)) continue;
    const std::string folder = folder_of(place);
    const bool is_kept = !kept_folder.empty() && folder == kept_folder;
    if (is_kept) present[place] = checksums;
    const bool is_behind_link = !folder.empty() && fs::is_symlink(fs::symlink_status(root_ / folder));
    if (!is_kept && !is_behind_link && is_as_written(place)) fs::remove(root_ / place);
  }
  write_list(present);
  earlier_ = std::move(present);
}

}  // namespace batchplus
