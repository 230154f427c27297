#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace batchplus {

/// Holds a file locked against other processes until the end of the scope; the lock of a process that died is
/// free. Waits for another holder, after telling `on_wait` once.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Null when another process holds it. A symbolic link is not followed. An Error when the file holds
  /// something that no holder wrote: it is somebody's own.
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);

  /// Writes into the file who holds it, for others to read.
  void sign() const;

 private:
  enum class Adopt { kYes };
  FileLock(Adopt, int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

/// Whether nobody holds the file locked, or it is not there. Asking keeps nobody from locking it by try_lock.
bool is_free(const std::filesystem::path& path);

/// "process 4711 on HOST, since 2026-01-31T12:00:00Z": who signed a lock's file last; empty when nobody did.
std::string holder_of(const std::filesystem::path& path);

}  // namespace batchplus
