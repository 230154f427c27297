#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "util/file_lock.h"

namespace batchplus {

/// The bytes of files by their places in a report: index.html, tables/test_accuracy.csv.
using ReportFiles = std::map<std::string, std::string>;

/// The directory of a report, which no other process writes meanwhile. files.json in it says which files
/// reports have written there, with their SHA-256s. Only these are replaced or removed, as long as they are
/// as they were written; everything else is somebody's own.
class ReportDirectory {
 public:
  /// Creates it if need be and locks it. An Error when another process has it, or when something is in the
  /// way that is not a report.
  explicit ReportDirectory(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  /// Whether the earlier report has files in this folder.
  bool has_earlier(const std::string& folder) const;

  /// Writes the files and removes those of the earlier report which are not among them, but for those in
  /// `kept_folder`, if one is named. An Error that names what is in the way leaves everything as it was.
  void replace(const ReportFiles& files, const std::string& kept_folder = "");

 private:
  /// Of each file what reports wrote there: more than one after a report that was cut short.
  using Checksums = std::map<std::string, std::set<std::string>>;

  void require_free(const ReportFiles& files) const;
  bool is_as_written(const std::string& place) const;
  void write_list(const Checksums& checksums) const;

  std::filesystem::path root_;
  std::unique_ptr<FileLock> lock_;
  Checksums earlier_;
};

/// An Error when something that is not a report is in the way of one.
void require_place_for_report(const std::filesystem::path& root);

}  // namespace batchplus
