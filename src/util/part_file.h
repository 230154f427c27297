#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace batchplus {

/// `target`.part: the bytes of a download that have arrived, those of an earlier process included. Each is
/// with the kernel at once, so a killed process loses none. An empty file is removed at the end of the scope.
class PartFile {
 public:
  explicit PartFile(const std::filesystem::path& target);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  int64_t size() const { return size_; }
  void append(std::string_view bytes);
  void clear();
  /// MD5 of the whole file, once it is on the disk.
  std::string synced_md5() const;
  /// Renames it and syncs the directory.
  void move_to(const std::filesystem::path& target) const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  int64_t size_ = 0;
};

}  // namespace batchplus
