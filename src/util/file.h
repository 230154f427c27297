#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace batchplus {

/// An Error for an errno `code`: exit code 1 when the machine is to blame (a full disk, an I/O fault), 2 when
/// the path is.
[[noreturn]] void throw_system_error(const std::string& what, const std::filesystem::path& path, int code);

/// Makes renames within the directory (the current one when empty) last.
void sync_directory(const std::filesystem::path& directory);

/// The whole file; an Error names it when it cannot be read, or is not a regular file: a pipe has no length
/// that could be checked, and may never end.
std::string read_file(const std::filesystem::path& path);

/// The same for a text that somebody wrote, which may also come through a pipe: `<(...)`, /dev/stdin. It is
/// read to its end.
std::string read_text(const std::filesystem::path& path);

/// An Error when something is at `path` that a file must not replace: a directory, a device, a pipe, a
/// symbolic link (also one that leads nowhere), or a file that may not be written to. Everything that writes
/// a file asks.
void require_replaceable(const std::filesystem::path& path, const std::string& where);

/// Replaces `path` as a whole: written to a temporary name beside it, synced, renamed, the directory synced.
/// On failure an Error is thrown and whatever was at `path` is still there. What is not a regular file stays
/// (require_replaceable).
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// What write_file_atomically does, with a moment between writing and replacing in which the new file can be
/// looked at.
class PendingFile {
 public:
  /// Writes the bytes to a temporary name beside `target` and syncs them.
  PendingFile(std::filesystem::path target, std::string_view bytes);
  /// Removes it unless it was committed.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Takes the target's place and syncs the directory.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool is_committed_ = false;
};

/// Removes the temporary files that processes which were killed while writing this one left beside it.
void remove_pending_files(const std::filesystem::path& target);

/// Appends with a single write. When that fails, as on a full disk, the file is as long as before. A symbolic
/// link is not followed.
void append_bytes(const std::filesystem::path& path, std::string_view bytes);
/// Appends one line and its newline with a single write.
void append_line(const std::filesystem::path& path, std::string_view line);

/// Creates the directory and its parents; an Error when that is impossible.
void make_directories(const std::filesystem::path& path);

/// An Error now, instead of after hours of work, if a file could not be written at `path` later.
void require_writable_target(const std::filesystem::path& path, const std::string& where);

/// A directory with a unique name under `parent`, removed with its contents at the end of the scope.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Removes those that processes which were killed left under `parent`, where no other process may be at
  /// work.
  static void remove_leftovers(const std::filesystem::path& parent);

 private:
  std::filesystem::path path_;
};

}  // namespace batchplus
