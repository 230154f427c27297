#include "watch/watcher.h"

#include <ctime>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "util/clock.h"
#include "util/process.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// At most this share of a core goes into looking where nothing changes.
constexpr double kShareOfCore = 0.012;
constexpr double kShareOfCoreForFinding = 0.004;
constexpr double kLeastSeconds = 0.25;
constexpr double kMostSeconds = 5;
constexpr double kLeastSecondsBetweenFinds = 1;
constexpr double kMostSecondsBetweenFinds = 30;
/// An ended run is looked at in each so manieth round.
constexpr int64_t kRoundsBetweenLooksAtEnded = 16;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double computed_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

WatchMoment present_moment() {
  std::ifstream locks("/proc/locks");
  const std::string text{std::istreambuf_iterator<char>(locks), {}};
  return {seconds_now(), held_locks(text), host_name()};
}

}  // namespace

Watcher::Watcher(const std::vector<fs::path>& paths)
    : folders_([&] {
        std::vector<GivenFolder> folders;
        for (const fs::path& path : paths) folders.emplace_back(path);
        return folders;
      }()),
      finder_(folders_) {}

Watcher::~Watcher() {
  stop();
}

bool Watcher::find_runs() {
  const std::vector<WatchedPlace> places = finder_.find();
  bool is_changed = false;
  std::map<std::string, const WatchedPlace*> present;
  for (const WatchedPlace& place : places) present[id_of_path(place.path())] = &place;
  std::vector<std::string> gone;
  {
    const std::lock_guard lock(runs_mutex_);
    for (const auto& [id, place] : present) {
      const auto found = runs_.find(id);
      if (found == runs_.end()) {
        runs_[id] = std::make_unique<WatchedRun>(*place);
      } else if (found->second->place().description != place->description) {
        // A sweep was begun around it, or described anew.
        found->second = std::make_unique<WatchedRun>(*place);
      }
    }
    for (const auto& [id, run] : runs_) {
      if (!present.contains(id)) gone.push_back(id);
    }
    for (const std::string& id : gone) runs_.erase(id);
  }
  const std::lock_guard lock(mutex_);
  const auto& found = finder_.sweeps();
  const bool is_same = std::equal(
      found.begin(), found.end(), sweeps_.begin(), sweeps_.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second.mark == b.second.mark; });
  if (!is_same) {
    sweeps_ = found;
    sweeps_version_ = ++version_;
    is_changed = true;
  }
  for (const std::string& id : gone) {
    published_.erase(id);
    gone_[id] = ++version_;
    is_changed = true;
  }
  return is_changed;
}

bool Watcher::look_at_runs(double seconds_for_records) {
  const Stopwatch since_begin;
  const WatchMoment moment = present_moment();
  const bool looks_at_ended = looks_++ % kRoundsBetweenLooksAtEnded == 0;
  bool is_changed = false;
  std::vector<WatchedRun*> runs;
  {
    const std::lock_guard lock(runs_mutex_);
    for (const auto& [id, run] : runs_) runs.push_back(run.get());
  }
  // Only this thread adds and removes runs.
  has_more_ = false;
  for (WatchedRun* run : runs) {
    const bool has_ended = is_final(run->state()) && !run->has_more();
    if (has_ended && !looks_at_ended) continue;
    const std::lock_guard lock(runs_mutex_);
    if (run->look(moment, since_begin.seconds() < seconds_for_records)) {
      publish(*run, moment.now);
      is_changed = true;
    }
    has_more_ = has_more_ || run->has_more();
  }
  return is_changed;
}

void Watcher::publish(const WatchedRun& run, double now) {
  auto summary = std::make_shared<const std::string>(
      run.summary(now).dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::lock_guard lock(mutex_);
  gone_.erase(run.id());
  WatchChanges::Row& row = published_[run.id()];
  if (row.summary && *row.summary == *summary) return;
  row = {++version_, std::move(summary)};
}

bool Watcher::look(double seconds_for_records) {
  const bool has_found = find_runs();
  return look_at_runs(seconds_for_records) || has_found || has_more_;
}

void Watcher::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  thread_ = std::thread([this] { look_until_stopped(); });
}

void Watcher::look_until_stopped() {
  double next_find = 0;
  std::unique_lock lock(stop_mutex_);
  while (!is_stopping_) {
    lock.unlock();
    const uint64_t before = version();
    const double start = computed_seconds();
    const double now = seconds_now();
    if (now >= next_find || next_find > now + kMostSecondsBetweenFinds) {
      find_runs();
      const double pause = (computed_seconds() - start) / kShareOfCoreForFinding;
      next_find = seconds_now() + std::clamp(pause, kLeastSecondsBetweenFinds, kMostSecondsBetweenFinds);
    }
    const double found = computed_seconds();
    look_at_runs();
    const double spent = computed_seconds() - found;
    const bool is_changed = version() != before;
    if (is_changed && on_change_) on_change_();
    // A round in which much was read says nothing of one in which nothing happens.
    double pause = is_changed ? kLeastSeconds : std::clamp(spent / kShareOfCore, kLeastSeconds, kMostSeconds);
    if (has_more_) pause = 0;
    lock.lock();
    stop_signal_.wait_for(lock, std::chrono::duration<double>(pause), [this] { return is_stopping_; });
  }
}

void Watcher::stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

uint64_t Watcher::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

WatchChanges Watcher::changes_since(uint64_t version) const {
  const std::lock_guard lock(mutex_);
  WatchChanges changes{.version = version_, .has_new_sweeps = sweeps_version_ > version};
  for (const auto& [id, row] : published_) {
    if (row.version > version) changes.rows.push_back(row);
  }
  if (version == 0) return changes;
  for (const auto& [id, when] : gone_) {
    if (when > version) changes.gone.push_back(id);
  }
  return changes;
}

bool Watcher::with_run(const std::string& id, const std::function<void(const WatchedRun&)>& look_at) const {
  const std::lock_guard lock(runs_mutex_);
  const auto found = runs_.find(id);
  if (found == runs_.end()) return false;
  look_at(*found->second);
  return true;
}

std::optional<WatchedSweep> Watcher::sweep(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = sweeps_.find(id);
  return found == sweeps_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<WatchedSweep> Watcher::sweeps() const {
  const std::lock_guard lock(mutex_);
  std::vector<WatchedSweep> all;
  for (const auto& [id, sweep] : sweeps_) all.push_back(sweep);
  return all;
}

std::vector<std::string> Watcher::loose_runs() const {
  const std::lock_guard lock(runs_mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, run] : runs_) {
    if (!run->place().description) ids.push_back(id);
  }
  return ids;
}

}  // namespace batchplus
