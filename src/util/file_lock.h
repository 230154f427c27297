#pragma once

#include <filesystem>
#include <functional>
#include <memory>

namespace batchplus {

/// Holds a file locked against other processes until the end of the scope; the lock of a process that died is
/// free. Waits for another holder, after telling `on_wait` once.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Null when another process holds it.
  static std::unique_ptr<FileLock> try_lock(const std::filesystem::path& path);

 private:
  enum class Adopt { kYes };
  FileLock(Adopt, int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace batchplus
