#include "group/lost_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <thread>

namespace batchplus {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::vector<int> silent_ranks(const StorePointer& store, int rank, int size, bool serves) {
  constexpr seconds kGrace{4};
  constexpr milliseconds kPause{20};
  const auto key = [](int of) { return fmt::format("alive/{}", of); };
  store->set(key(rank), std::vector<uint8_t>{1});
  const auto end = steady_clock::now() + kGrace;
  std::vector<int> silent;
  do {
    silent.clear();
    for (int other = 0; other < size; ++other) {
      if (!store->check({key(other)})) silent.push_back(other);
    }
    if (silent.size() <= 1) break;
    std::this_thread::sleep_for(kPause);
  } while (steady_clock::now() < end);
  store->add("told", 1);
  // The others have to read it too.
  while (serves && store->add("told", 0) < size - static_cast<int64_t>(silent.size()) &&
         steady_clock::now() < end) {
    std::this_thread::sleep_for(kPause);
  }
  return silent;
}

}  // namespace

std::vector<int> LostRanks::find(int suspect) {
  const std::lock_guard lock(mutex_);
  if (!found_) found_ = ask();
  return found_->empty() ? std::vector<int>{suspect} : *found_;
}

std::vector<int> LostRanks::ask() const {
  // A meeting point that does not answer must not hold this rank up.
  constexpr seconds kPatience{8};
  auto answer = std::make_shared<std::promise<std::vector<int>>>();
  std::future<std::vector<int>> silent = answer->get_future();
  const bool serves = membership_.rank == 0 && !membership_.is_served;
  std::thread([answer, store = store_, rank = membership_.rank, size = membership_.size, serves] {
    try {
      answer->set_value(silent_ranks(store, rank, size, serves));
    } catch (const std::exception&) {
      // The meeting point is gone, and with it who served it.
      answer->set_value({serves || size == 1 ? rank : 0});
    }
  }).detach();
  if (silent.wait_for(kPatience) == std::future_status::ready) return silent.get();
  return membership_.is_served ? std::vector<int>{} : std::vector<int>{0};
}

}  // namespace batchplus
