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
constexpr double kShareOfCore = 0.008;
constexpr double kShareOfCoreForFinding = 0.003;
constexpr double kLeastSeconds = 0.5;
constexpr double kMostSeconds = 5;
constexpr double kLeastSecondsBetweenFinds = 1;
constexpr double kMostSecondsBetweenFinds = 30;
/// An ended run is looked at in each so manieth round.
constexpr int64_t kRoundsBetweenLooksAtEnded = 16;
/// So long a round reads records before others get their turn.
constexpr double kSecondsOfRecords = 0.2;
/// Who writes without a pause is looked at so often.
constexpr std::chrono::milliseconds kBetweenSignals{50};

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
  for (const std::string& id : gone) {
    const auto signal = signal_of_.find(id);
    if (signal == signal_of_.end()) continue;
    signals_.leave(signal->second);
    followed_.erase(signal->second);
    signal_of_.erase(signal);
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
  // Only this thread adds and removes runs. Those that still run are what most people wait for.
  std::stable_partition(runs.begin(), runs.end(), [](WatchedRun* run) { return !is_final(run->state()); });
  has_more_ = false;
  for (WatchedRun* run : runs) {
    const bool has_ended = is_final(run->state()) && !run->has_more();
    if (has_ended && !looks_at_ended) continue;
    is_changed |= look_at(*run, moment, since_begin.seconds() < seconds_for_records);
    has_more_ = has_more_ || run->has_more();
  }
  return is_changed;
}

void Watcher::look_at_written(const FolderSignals::News& news) {
  if (news.written.empty()) return;
  const WatchMoment moment = present_moment();
  for (const int number : news.written) {
    const auto followed = followed_.find(number);
    if (followed == followed_.end()) continue;
    const auto run = runs_.find(followed->second);
    if (run == runs_.end()) continue;
    look_at(*run->second, moment, /*reads_records=*/true);
    has_more_ = has_more_ || run->second->has_more();
  }
}

bool Watcher::look_at(WatchedRun& run, const WatchMoment& moment, bool reads_records) {
  const std::lock_guard lock(runs_mutex_);
  // Before it is looked at: what is written from now on is told.
  if (run.has_begun()) follow(run);
  const bool is_changed = run.look(moment, reads_records);
  if (is_changed) publish(run, moment.now);
  return is_changed;
}

void Watcher::follow(const WatchedRun& run) {
  if (signal_of_.contains(run.id())) return;
  const int number = signals_.follow(*run.place().folder, run.place().relative);
  // One that cannot be followed is not tried again and again.
  signal_of_[run.id()] = number;
  if (number >= 0) followed_[number] = run.id();
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
  const bool is_changed = look_at_runs(seconds_for_records);
  note_first_look();
  return is_changed || has_found || has_more_;
}

void Watcher::note_first_look() {
  {
    const std::lock_guard lock(first_look_mutex_);
    has_looked_ = true;
  }
  first_look_signal_.notify_all();
}

void Watcher::wait_for_first_look() const {
  std::unique_lock lock(first_look_mutex_);
  first_look_signal_.wait(lock, [this] { return has_looked_; });
}

void Watcher::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  thread_ = std::thread([this] {
    while (!is_stopping_) {
      try {
        look_until_stopped();
      } catch (const std::exception&) {
        // Out of memory, most likely. Whoever this process works for does not end because of it.
        signals_.wait(kMostSeconds);
      }
    }
  });
}

void Watcher::look_until_stopped() {
  const Stopwatch clock;
  look(/*seconds_for_records=*/0);
  if (on_change_) on_change_();
  double next_find = clock.seconds() + kLeastSecondsBetweenFinds;
  double next_round = 0;
  FolderSignals::News news;
  while (!is_stopping_) {
    const uint64_t before = version();
    const double start = computed_seconds();
    if (clock.seconds() >= next_find) {
      find_runs();
      const double pause = (computed_seconds() - start) / kShareOfCoreForFinding;
      next_find = clock.seconds() + std::clamp(pause, kLeastSecondsBetweenFinds, kMostSecondsBetweenFinds);
    }
    look_at_written(news);
    const bool is_round = has_more_ || news.is_incomplete || clock.seconds() >= next_round;
    if (is_round) {
      const double begin = computed_seconds();
      const bool is_changed = look_at_runs(kSecondsOfRecords);
      // A round in which much was read says nothing of one in which nothing happens.
      const double pause = (computed_seconds() - begin) / kShareOfCore;
      next_round =
          clock.seconds() + (is_changed ? kLeastSeconds : std::clamp(pause, kLeastSeconds, kMostSeconds));
    }
    if (version() != before && on_change_) on_change_();
    if (!news.written.empty()) std::this_thread::sleep_for(kBetweenSignals);
    const double until = has_more_ ? 0 : std::min(next_find, next_round);
    news = signals_.wait(std::max(0.0, until - clock.seconds()));
    for (const int number : news.gone) {
      const auto followed = followed_.find(number);
      if (followed == followed_.end()) continue;
      signal_of_.erase(followed->second);
      followed_.erase(followed);
    }
  }
}

void Watcher::stop() {
  is_stopping_ = true;
  // Who waits for the first look is not kept any longer.
  note_first_look();
  signals_.wake();
  if (thread_.joinable()) thread_.join();
}

void Watcher::note_change() {
  const std::lock_guard lock(mutex_);
  ++version_;
}

uint64_t Watcher::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

WatchChanges Watcher::changes_since(uint64_t version, size_t most_rows) const {
  const std::lock_guard lock(mutex_);
  WatchChanges changes{.version = version_, .has_new_sweeps = sweeps_version_ > version};
  for (const auto& [id, row] : published_) {
    if (row.version > version) changes.rows.push_back(row);
  }
  if (changes.rows.size() > most_rows) {
    std::sort(changes.rows.begin(), changes.rows.end(),
              [](const auto& a, const auto& b) { return a.version < b.version; });
    changes.rows.resize(most_rows);
    changes.version = changes.rows.back().version;
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
