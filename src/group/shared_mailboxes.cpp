#include "group/shared_mailboxes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <optional>

namespace batchplus {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int64_t kStreamBytes = 1 << 18;
constexpr size_t kCacheLine = 64;

/// How long a process that waits looks again and again: first without a pause, then letting others have the
/// core in between.
constexpr microseconds kEager{20};
constexpr microseconds kYielding{2000};
/// How often one that sleeps looks whether the others are still there.
constexpr milliseconds kNap{10};

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Sleeps unless `word` has changed already.
void sleep_on(const std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec nap{0, std::chrono::nanoseconds(kNap).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &nap, nullptr, 0);
}

void wake(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// How long this process has waited. The time for which it was itself stopped does not count.
class Patience {
 public:
  steady_clock::duration waited() {
    const auto now = steady_clock::now();
    waited_ += std::min<steady_clock::duration>(now - last_look_, 10 * kNap);
    last_look_ = now;
    return waited_;
  }

 private:
  steady_clock::time_point last_look_ = steady_clock::now();
  steady_clock::duration waited_{0};
};

}  // namespace

/// Bytes on their way from one process to another: as many as were written and not yet read.
struct SharedMailboxes::Stream {
  alignas(kCacheLine) std::atomic<uint64_t> written;
  alignas(kCacheLine) std::atomic<uint64_t> read;
  alignas(kCacheLine) char bytes[kStreamBytes];

  /// Puts what fits of `count` bytes into the stream, and says how many those are.
  int64_t put(const char* from, int64_t count) {
    const uint64_t end = written.load(std::memory_order_relaxed);
    const auto room = kStreamBytes - static_cast<int64_t>(end - read.load(std::memory_order_acquire));
    const int64_t moved = std::min(room, count);
    if (moved == 0) return 0;
    const auto at = static_cast<int64_t>(end % kStreamBytes);
    const int64_t before_wrap = std::min(moved, kStreamBytes - at);
    std::memcpy(bytes + at, from, static_cast<size_t>(before_wrap));
    std::memcpy(bytes, from + before_wrap, static_cast<size_t>(moved - before_wrap));
    written.store(end + static_cast<uint64_t>(moved), std::memory_order_release);
    return moved;
  }

  int64_t take(char* to, int64_t count) {
    const uint64_t begin = read.load(std::memory_order_relaxed);
    const auto there = static_cast<int64_t>(written.load(std::memory_order_acquire) - begin);
    const int64_t moved = std::min(there, count);
    if (moved == 0) return 0;
    const auto at = static_cast<int64_t>(begin % kStreamBytes);
    const int64_t before_wrap = std::min(moved, kStreamBytes - at);
    std::memcpy(to, bytes + at, static_cast<size_t>(before_wrap));
    std::memcpy(to + before_wrap, bytes, static_cast<size_t>(moved - before_wrap));
    read.store(begin + static_cast<uint64_t>(moved), std::memory_order_release);
    return moved;
  }
};

/// What the others know of a process.
struct SharedMailboxes::Box {
  /// Counts what happened in its streams; what it sleeps on.
  alignas(kCacheLine) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> is_asleep;
  std::atomic<uint32_t> is_gone;
};

SharedMailboxes::SharedMailboxes(int descriptor, void* memory, int processes)
    : descriptor_(descriptor),
      memory_(static_cast<char*>(memory)),
      processes_(processes),
      process_descriptors_(static_cast<size_t>(processes), -1) {}

SharedMailboxes::~SharedMailboxes() {
  if (place_ >= 0) {
    box(place_).is_gone.store(1);
    for (int other = 0; other < processes_; ++other) ring(other);
  }
  for (const int descriptor : process_descriptors_) {
    if (descriptor >= 0) ::close(descriptor);
  }
  ::munmap(memory_, bytes_of(processes_));
  ::close(descriptor_);
}

size_t SharedMailboxes::bytes_of(int processes) {
  const auto count = static_cast<size_t>(processes);
  return count * sizeof(Box) + count * count * sizeof(Stream);
}

std::unique_ptr<SharedMailboxes> SharedMailboxes::map(int descriptor, int processes) {
  void* memory = ::mmap(nullptr, bytes_of(processes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory != MAP_FAILED)
    return std::unique_ptr<SharedMailboxes>(new SharedMailboxes(descriptor, memory, processes));
  ::close(descriptor);
  return nullptr;
}

std::unique_ptr<SharedMailboxes> SharedMailboxes::create(int processes) {
  const int descriptor = ::memfd_create("batchplus", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  // Zeros, which is what everything in it begins with.
  if (::ftruncate(descriptor, static_cast<off_t>(bytes_of(processes))) == 0)
    return map(descriptor, processes);
  ::close(descriptor);
  return nullptr;
}

std::unique_ptr<SharedMailboxes> SharedMailboxes::open(const std::string& path, int processes) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor < 0 ? nullptr : map(descriptor, processes);
}

std::string SharedMailboxes::path() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_);
}

SharedMailboxes::Box& SharedMailboxes::box(int place) const {
  return reinterpret_cast<Box*>(memory_)[place];
}

SharedMailboxes::Stream& SharedMailboxes::stream(int from, int to) const {
  auto* first = reinterpret_cast<Stream*>(memory_ + static_cast<size_t>(processes_) * sizeof(Box));
  return first[from * processes_ + to];
}

bool SharedMailboxes::enter(int place, const std::vector<int>& processes) {
  place_ = place;
  for (int other = 0; other < processes_; ++other) {
    if (other == place) continue;
    // It also says that a process has ended for which nobody has waited yet.
    const long descriptor = ::syscall(SYS_pidfd_open, processes[static_cast<size_t>(other)], 0);
    if (descriptor < 0) return false;
    process_descriptors_[static_cast<size_t>(other)] = static_cast<int>(descriptor);
  }
  return true;
}

bool SharedMailboxes::has_ended(int place) const {
  if (box(place).is_gone.load() != 0) return true;
  pollfd process{process_descriptors_[static_cast<size_t>(place)], POLLIN, 0};
  return ::poll(&process, 1, 0) > 0;
}

void SharedMailboxes::ring(int place) const {
  Box& other = box(place);
  other.bell.fetch_add(1);
  if (other.is_asleep.load() != 0) wake(other.bell);
}

SharedMailboxes::Result SharedMailboxes::exchange(const Sent& sent, const Received& received,
                                                  milliseconds timeout) {
  const auto* from = static_cast<const char*>(sent.bytes);
  auto* to = static_cast<char*>(received.bytes);
  int64_t unsent = sent.count;
  int64_t unreceived = received.count;
  const auto move = [&] {
    const int64_t put = unsent > 0 ? stream(place_, sent.place).put(from, unsent) : 0;
    const int64_t taken = unreceived > 0 ? stream(received.place, place_).take(to, unreceived) : 0;
    if (put > 0) ring(sent.place);
    if (taken > 0) ring(received.place);
    from += put;
    unsent -= put;
    to += taken;
    unreceived -= taken;
    return put + taken > 0;
  };
  const auto who_ended = [&]() -> std::optional<int> {
    if (unreceived > 0 && has_ended(received.place)) return received.place;
    if (unsent > 0 && has_ended(sent.place)) return sent.place;
    return std::nullopt;
  };
  Box& own = box(place_);
  Patience patience;
  while (unsent > 0 || unreceived > 0) {
    if (move()) {
      patience = Patience();
      continue;
    }
    const auto waited = patience.waited();
    if (waited < kEager) {
      pause_briefly();
    } else if (waited < kYielding) {
      ::sched_yield();
    } else {
      // Whoever rings from here on changes the bell, and then it is not slept on.
      const uint32_t seen = own.bell.load();
      own.is_asleep.store(1);
      // What a process sent before it ended still counts.
      const std::optional<int> ended = who_ended();
      const bool has_moved = move();
      const bool is_late = waited >= timeout;
      if (!has_moved && !ended && !is_late) sleep_on(own.bell, seen);
      own.is_asleep.store(0);
      if (has_moved) {
        patience = Patience();
      } else if (ended) {
        return {Outcome::kGone, *ended};
      } else if (is_late) {
        return {Outcome::kLate, unreceived > 0 ? received.place : sent.place};
      }
    }
  }
  return {};
}

}  // namespace batchplus
