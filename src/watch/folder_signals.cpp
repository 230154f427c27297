#include "watch/folder_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace batchplus {
namespace {

constexpr uint32_t kWritten = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE;

/// Checkpoints are written beside these, and say nothing to a reader.
bool is_shown(std::string_view name) {
  return name == "metrics.jsonl" || name == "status.json" || name == "config.toml" || name == "lock";
}

}  // namespace

FolderSignals::FolderSignals()
    : signals_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

FolderSignals::~FolderSignals() {
  for (const int descriptor : {signals_, wake_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

int FolderSignals::follow(const GivenFolder& folder, const std::filesystem::path& relative) {
  if (signals_ < 0) return -1;
  const int descriptor = folder.open_folder(relative);
  if (descriptor < 0) return -1;
  // By what was opened, and not by its path, which somebody could make lead elsewhere meanwhile.
  const std::string opened = fmt::format("/proc/self/fd/{}", descriptor);
  const int number = ::inotify_add_watch(signals_, opened.c_str(), kWritten | IN_ONLYDIR);
  ::close(descriptor);
  return number;
}

void FolderSignals::leave(int number) {
  if (signals_ >= 0 && number >= 0) ::inotify_rm_watch(signals_, number);
}

FolderSignals::News FolderSignals::wait(double seconds) {
  std::array<pollfd, 2> both = {{{wake_, POLLIN, 0}, {signals_, POLLIN, 0}}};
  ::poll(both.data(), both.size(), static_cast<int>(std::ceil(seconds * 1000)));
  uint64_t times = 0;
  (void)!::read(wake_, &times, sizeof times);
  News news;
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  ssize_t bytes = 0;
  while (signals_ >= 0 && (bytes = ::read(signals_, buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < bytes;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      if ((event.mask & IN_Q_OVERFLOW) != 0) news.is_incomplete = true;
      if ((event.mask & IN_IGNORED) != 0) news.gone.insert(event.wd);
      if (event.len > 0 && is_shown(std::string_view(name, ::strnlen(name, event.len))))
        news.written.insert(event.wd);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  return news;
}

void FolderSignals::wake() {
  const uint64_t once = 1;
  (void)!::write(wake_, &once, sizeof once);
}

}  // namespace batchplus
