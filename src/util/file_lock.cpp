#include "util/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "util/clock.h"
#include "util/file.h"
#include "util/process.h"

namespace batchplus {

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
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    return std::unique_ptr<FileLock>(new FileLock(Adopt::kYes, descriptor));
  }
  const int problem = errno;
  ::close(descriptor);
  if (problem == EWOULDBLOCK) return nullptr;
  throw_system_error("cannot lock file", path, problem);
}

void FileLock::sign() const {
  const std::string holder =
      fmt::format("process {} on {}, since {}\n", ::getpid(), host_name(), utc_timestamp());
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
