#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "group/group.h"

namespace batchplus {

/// Adds numbers up over the ranks of a group's companion, in a thread of its own, while the one that begins
/// the sums goes on. All ranks begin the same sums in the same order. The bits are those of Group::sum.
class BackgroundSums {
 public:
  explicit BackgroundSums(Group& companion) : companion_(companion) {}
  /// Returns when nobody uses the numbers any more; sums that have not been finished may be left out.
  ~BackgroundSums();
  BackgroundSums(const BackgroundSums&) = delete;
  BackgroundSums& operator=(const BackgroundSums&) = delete;

  /// The numbers belong to the sum until finish() returns.
  void begin(float* values, int64_t count);
  /// Waits for all sums that were begun; what went wrong with one of them is thrown here. Nothing is begun
  /// afterwards.
  void finish();

 private:
  struct Sum {
    float* values = nullptr;
    int64_t count = 0;
  };
  void work();
  void end(bool is_abandoned);

  Group& companion_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sum> begun_;
  bool is_ending_ = false;
  std::exception_ptr problem_;
  /// Started with the first sum.
  std::thread thread_;
};

}  // namespace batchplus
