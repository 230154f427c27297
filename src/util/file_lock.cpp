#include "util/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "util/clock.h"
#include "util/error.h"
#include "util/file.h"
#include "util/process.h"

namespace batchplus {
namespace {

constexpr std::string_view kSignature = "process ";

/// False when another process holds it. Who asks whether it is free (is_free) shares it for a moment, in
/// which this one asks again.
bool lock_at_once(int descriptor, const std::filesystem::path& path) {
  constexpr int kMostAttempts = 100;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) throw_system_error("cannot lock file", path, errno);
    if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return false;
    ::flock(descriptor, LOCK_UN);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// A process that was killed while it signed has left a part of its signature.
void require_lock_file(const std::filesystem::path& path) {
  const std::string holder = holder_of(path);
  if (kSignature.starts_with(holder) || holder.starts_with(kSignature)) return;
  throw Error("the file is not a lock, but somebody's own",
              {path.string(), holder, "move it elsewhere, or name another directory"});
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  int result = descriptor_ < 0 ? -1 : ::flock(descriptor_, LOCK_EX | LOCK_NB);
  if (descriptor_ >= 0 && result != 0 && errno == EWOULDBLOCK) {
    if (on_wait) on_wait();
    do {
      result = ::flock(descriptor_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
  }
  if (result != 0) {
    const int problem = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw_system_error("cannot lock file", path, problem);
  }
}

std::unique_ptr<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) {
    const int problem = errno;
    if (problem == ELOOP) require_replaceable(path, "");
    throw_system_error("cannot lock file", path, problem);
  }
  std::unique_ptr<FileLock> lock(new FileLock(Adopt::kYes, descriptor));
  if (!lock_at_once(descriptor, path)) return nullptr;
  require_lock_file(path);
  return lock;
}

bool is_free(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return true;
  const bool is_held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return !is_held;
}

void FileLock::sign() const {
  const std::string holder =
      fmt::format("{}{} on {}, since {}\n", kSignature, ::getpid(), host_name(), utc_timestamp());
  // What others read is a help and no more, so nothing depends on whether it could be written.
  if (::ftruncate(descriptor_, 0) != 0) return;
  [[maybe_unused]] const ssize_t ignored = ::pwrite(descriptor_, holder.data(), holder.size(), 0);
}

std::string holder_of(const std::filesystem::path& path) {
  const std::string text = std::filesystem::is_regular_file(path) ? read_file(path) : "";
  constexpr size_t kLongest = 200;
  return text.substr(0, std::min(text.find('\n'), kLongest));
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace batchplus
