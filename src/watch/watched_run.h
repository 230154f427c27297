#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "config/run_config.h"
#include "config/sweep_file.h"
#include "store/run_directory.h"
#include "util/hash.h"
#include "watch/given_folder.h"
#include "watch/line_tail.h"
#include "watch/record_columns.h"
#include "watch/run_evidence.h"

namespace batchplus {

/// What all runs share in one look at them.
struct WatchMoment {
  /// Seconds since 1970.
  double now = 0;
  /// held_locks.
  std::set<std::pair<int64_t, uint64_t>> locks = {};
  std::string machine = {};
};

/// Where a run is, and what a sweep says of it.
struct WatchedPlace {
  const GivenFolder* folder = nullptr;
  /// From the folder; empty: it is the folder itself.
  std::filesystem::path relative = {};
  /// The sweep that has it, from the folder, and its description; null: none has.
  std::filesystem::path sweep = {};
  std::shared_ptr<const SweepFile> description = nullptr;
  std::string id_in_sweep = {};

  std::filesystem::path path() const;
  std::filesystem::path sweep_path() const;
};

/// Sixteen digits that a path gives: one path, one id.
std::string id_of_path(const std::filesystem::path& path);

/// One run directory as it was last seen. Nothing in it is believed, and nothing thrown.
class WatchedRun {
 public:
  explicit WatchedRun(WatchedPlace place);

  /// Looks for what has changed; true when something has that a reader would see. Records can be left for
  /// the next look.
  bool look(const WatchMoment& moment, bool reads_records = true);

  /// Of its path.
  const std::string& id() const { return id_; }
  const WatchedPlace& place() const { return place_; }
  /// Whether there is a directory of it.
  bool has_begun() const { return status_mark_ || tail_.mark(); }
  /// Whether there are records to be read at once.
  bool has_more() const { return tail_.has_more() || are_records_left_; }
  const std::string& state() const { return state_; }
  /// What is wrong with its files; empty: nothing.
  const std::string& problem() const { return problem_; }
  const Json& status() const { return status_; }
  const std::optional<RunConfig>& config() const { return config_; }
  const RecordColumns& columns() const { return columns_; }
  /// Bytes of metrics.jsonl that were read and are whole lines.
  int64_t record_bytes() const { return tail_.taken_bytes(); }
  std::filesystem::path file(const std::filesystem::path& name) const { return place_.relative / name; }

  /// What a list shows of it: docs/watch.md describes each key.
  Json summary(double now) const;

 private:
  bool look_at_status();
  bool look_at_records(double now);
  void look_at_sweep();
  /// What is wrong with its files; empty: nothing.
  std::string find_problem(bool has_ended);
  RunEvidence::Holder find_holder(const WatchMoment& moment, bool is_due);
  double find_progress() const;
  double rate() const;
  double seconds_left(double now) const;

  WatchedPlace place_;
  std::string id_;
  std::filesystem::path status_file_;
  std::filesystem::path config_file_;
  std::filesystem::path metrics_file_;
  std::filesystem::path lock_file_;
  std::filesystem::path failure_file_;
  std::filesystem::path progress_file_;
  std::optional<FileMark> status_mark_;
  std::optional<FileMark> failure_mark_;
  std::optional<FileMark> progress_mark_;
  std::optional<FileMark> lock_mark_;
  std::optional<LockHolder> lock_holder_;
  Json status_ = Json::object();
  std::optional<RunConfig> config_;
  std::string status_problem_;
  std::string failure_;
  std::string machine_;
  std::string problem_;
  double noted_progress_ = 0;
  LineTail tail_;
  RecordColumns columns_;
  /// Of the records that were read, and its digest once the run has ended.
  std::unique_ptr<Hash> hash_ = std::make_unique<Hash>();
  std::string digest_;
  std::string state_ = "waiting";
  double changed_at_ = 0;
  double usual_seconds_ = 0;
  double nobody_since_ = 0;
  bool was_nobody_ = false;
  int64_t looks_ = 0;
  bool are_records_left_ = false;
};

}  // namespace batchplus
