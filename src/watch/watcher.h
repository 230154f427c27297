#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "watch/find_places.h"
#include "watch/folder_signals.h"
#include "watch/watched_run.h"

namespace batchplus {

/// What a reader sees of all runs at a version, which counts up with every change.
struct WatchChanges {
  uint64_t version = 0;
  /// A run's summary as JSON text, and the version in which it last changed.
  struct Row {
    uint64_t version = 0;
    std::shared_ptr<const std::string> summary;
  };
  std::vector<Row> rows = {};
  /// Ids of runs that are no longer there.
  std::vector<std::string> gone = {};
  /// Whether the sweeps, or what they have, changed.
  bool has_new_sweeps = false;
};

/// Keeps what is known of all runs in some folders up to date: by looking at those that the system says were
/// written to, and at all of them again and again.
class Watcher {
 public:
  /// An Error for a path that is no directory.
  explicit Watcher(const std::vector<std::filesystem::path>& paths);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Finds runs, and looks at all of them once. After so many seconds of it, records are left for the next
  /// time. Returns whether something changed, or there is more to be read at once.
  bool look(double seconds_for_records = 1e9);

  /// Looks in a thread of its own from now on, and calls `on_change`, from that thread, after each change.
  void start(std::function<void()> on_change);
  void stop();
  /// Waits until every run was looked at once, records apart, or stop(). Nothing is known before.
  void wait_for_first_look() const;

  uint64_t version() const;
  /// Counts one more, though no run changed: there is something else to tell.
  void note_change();
  /// What changed after a version; after 0: everything. Of more rows than `most_rows` the first ones, and the
  /// version up to which that is all.
  WatchChanges changes_since(uint64_t version, size_t most_rows = SIZE_MAX) const;

  /// Calls `look_at` with a run while nobody changes it; false when there is none of this id.
  bool with_run(const std::string& id, const std::function<void(const WatchedRun&)>& look_at) const;
  /// The id of the run at a path; empty when there is none.
  std::string id_at(const std::filesystem::path& path) const { return id_of_path(path); }
  std::optional<WatchedSweep> sweep(const std::string& id) const;
  std::vector<WatchedSweep> sweeps() const;
  /// Ids of the runs that are in no sweep.
  std::vector<std::string> loose_runs() const;

 private:
  bool find_runs();
  bool look_at_runs(double seconds_for_records);
  void look_at_written(const FolderSignals::News& news);
  bool look_at(WatchedRun& run, const WatchMoment& moment, bool reads_records);
  void follow(const WatchedRun& run);
  void note_first_look();
  void publish(const WatchedRun& run, double now);
  void look_until_stopped();

  std::vector<GivenFolder> folders_;
  PlaceFinder finder_;
  std::function<void()> on_change_;
  FolderSignals signals_;
  /// Runs whose folders are followed, by the numbers of these, and the other way round.
  std::map<int, std::string> followed_;
  std::map<std::string, int> signal_of_;

  /// Of the runs: held while one of them is looked at, or read.
  mutable std::mutex runs_mutex_;
  std::map<std::string, std::unique_ptr<WatchedRun>> runs_;

  /// Of what readers get.
  mutable std::mutex mutex_;
  /// Who has seen nothing has seen version 0.
  uint64_t version_ = 1;
  std::map<std::string, WatchChanges::Row> published_;
  std::map<std::string, uint64_t> gone_;
  std::map<std::string, WatchedSweep> sweeps_;
  uint64_t sweeps_version_ = 0;
  /// Looks at ended runs are rare.
  int64_t looks_ = 0;
  bool has_more_ = false;

  mutable std::mutex first_look_mutex_;
  mutable std::condition_variable first_look_signal_;
  bool has_looked_ = false;

  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace batchplus
