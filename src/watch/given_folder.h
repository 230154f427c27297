#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// What tells whether a file has changed since it was last read.
struct FileMark {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t modified_nanoseconds = 0;

  bool operator==(const FileMark&) const = default;
  bool is_same_file(const FileMark& other) const { return device == other.device && inode == other.inode; }
  double modified_seconds() const { return static_cast<double>(modified_nanoseconds) * 1e-9; }
};

/// Of a run's config, status and the like; a longer one is none of this program's.
inline constexpr size_t kMostBytesOfFile = 1 << 20;

/// A folder that may be looked at, and nothing outside of it: no symbolic link is followed on the way from it
/// to a file, and only regular files are read. Nothing is written or locked.
class GivenFolder {
 public:
  /// An Error when it is not a directory.
  explicit GivenFolder(const std::filesystem::path& path);
  ~GivenFolder();
  GivenFolder(GivenFolder&& other) noexcept;
  GivenFolder& operator=(GivenFolder&&) = delete;

  /// Absolute, without links.
  const std::filesystem::path& path() const { return path_; }

  /// Nothing when it is not there, or not a regular file.
  std::optional<FileMark> mark(const std::filesystem::path& relative) const;

  /// At most `most_bytes` of a file from `offset` on, with the mark of what was opened. Nothing when it
  /// cannot be read.
  struct Piece {
    FileMark mark;
    std::string bytes;
  };
  std::optional<Piece> read(const std::filesystem::path& relative, int64_t offset, size_t most_bytes) const;
  /// A whole file; nothing when it cannot be read or is longer than that.
  std::optional<std::string> read_whole(const std::filesystem::path& relative, size_t most_bytes) const;

  /// Names of the directories in one, hidden ones and links left out, in no order.
  std::vector<std::string> folders_in(const std::filesystem::path& relative) const;
  bool has_folder(const std::filesystem::path& relative) const;
  /// A descriptor of a directory that can only be named, for the caller to close; -1 when there is none.
  int open_folder(const std::filesystem::path& relative) const;

 private:
  /// -1 when one of the parts is a link, or the like.
  int open_inside(const std::filesystem::path& relative, int flags) const;

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace batchplus
