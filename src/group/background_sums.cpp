#include "group/background_sums.h"

#include <utility>

namespace batchplus {

BackgroundSums::~BackgroundSums() {
  end(/*is_abandoned=*/true);
}

void BackgroundSums::begin(float* values, int64_t count) {
  {
    const std::lock_guard lock(mutex_);
    begun_.push_back({values, count});
  }
  changed_.notify_one();
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
}

void BackgroundSums::finish() {
  end(/*is_abandoned=*/false);
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void BackgroundSums::end(bool is_abandoned) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    if (is_abandoned) begun_.clear();
  }
  changed_.notify_one();
  thread_.join();
}

void BackgroundSums::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !begun_.empty(); });
    if (begun_.empty()) return;
    const Sum sum = begun_.front();
    begun_.pop_front();
    lock.unlock();
    try {
      companion_.sum(sum.values, sum.count);
    } catch (...) {
      problem_ = std::current_exception();
      return;
    }
    lock.lock();
  }
}

}  // namespace batchplus
