#include "watch/watched_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/config_toml.h"
#include "store/status_text.h"
#include "store/sweep_directory.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

fs::path joined(const fs::path& folder, const fs::path& relative) {
  return relative.empty() ? folder : folder / relative;
}

}  // namespace

std::string id_of_path(const fs::path& path) {
  constexpr size_t kDigits = 16;
  return sha256_hex(path.string()).substr(0, kDigits);
}

fs::path WatchedPlace::path() const {
  return joined(folder->path(), relative);
}

fs::path WatchedPlace::sweep_path() const {
  return joined(folder->path(), sweep);
}

WatchedRun::WatchedRun(WatchedPlace place) : place_(std::move(place)) {
  id_ = id_of_path(place_.path());
  status_file_ = file("status.json");
  config_file_ = file("config.toml");
  metrics_file_ = file("metrics.jsonl");
  lock_file_ = file("lock");
  const SweepDirectory sweep{place_.sweep};
  failure_file_ = sweep.failure(place_.id_in_sweep);
  progress_file_ = sweep.progress(place_.id_in_sweep);
}

bool WatchedRun::look_at_status() {
  // A config is written with a status behind it.
  const auto status_mark = place_.folder->mark(status_file_);
  if (status_mark == status_mark_) return false;
  status_mark_ = status_mark;
  status_ = Json::object();
  status_problem_.clear();
  if (!status_mark) {
    config_.reset();
    // A process that resumes with another config takes the status away for a moment.
    return true;
  }
  const fs::path root = place_.path();
  try {
    const auto status = place_.folder->read_whole(status_file_, kMostBytesOfFile);
    const auto config = place_.folder->read_whole(config_file_, kMostBytesOfFile);
    if (!status) throw Error("status.json cannot be read");
    Json parsed = parse_status(*status, "status.json");
    if (!config) throw Error("config.toml is missing, or cannot be read");
    require_config_of(parsed, *config, "config.toml");
    config_ = parse_run_config(*config, "config.toml");
    status_ = std::move(parsed);
  } catch (const Error& problem) {
    config_.reset();
    status_problem_ = problem.what();
  }
  return true;
}

bool WatchedRun::look_at_records(double now) {
  const size_t before = columns_.count();
  const auto begin_again = [&] {
    columns_.clear();
    hash_ = std::make_unique<Hash>();
    digest_.clear();
  };
  const auto take = [&](std::string_view line) {
    hash_->add(line);
    hash_->add("\n");
    return columns_.add(line);
  };
  // Records that were compared with their checksum are read anew when they change.
  if (!digest_.empty() && place_.folder->mark(metrics_file_) != tail_.mark()) {
    tail_ = LineTail();
    begin_again();
  }
  const bool is_changed = tail_.update(*place_.folder, metrics_file_, take, begin_again);
  // A run that goes on, or ends, writes its records anew; that is no sign of how long an epoch takes.
  if (columns_.count() > before && before > 0 && changed_at_ > 0)
    usual_seconds_ = std::max(usual_seconds_, std::min(now - changed_at_, 86400.0));
  return is_changed;
}

std::string WatchedRun::find_problem(bool has_ended) {
  if (!status_problem_.empty()) return status_problem_;
  if (tail_.bad_line() > 0) return fmt::format("metrics.jsonl:{} is not a record", tail_.bad_line());
  // Older runs have no checksum.
  if (!has_ended || has_more() || !status_.contains(kMetricsChecksum)) return "";
  if (digest_.empty()) digest_ = hash_->hex();
  return status_[kMetricsChecksum] == digest_ ? "" : "metrics.jsonl is not as it was written";
}

void WatchedRun::look_at_sweep() {
  if (place_.id_in_sweep.empty()) return;
  const auto failure_mark = place_.folder->mark(failure_file_);
  if (failure_mark != failure_mark_) {
    failure_mark_ = failure_mark;
    failure_.clear();
    if (failure_mark) {
      const auto text = place_.folder->read_whole(failure_file_, kMostBytesOfFile);
      const Json json = Json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
      const bool has_error = json.is_object() && json.contains("error") && json["error"].is_string();
      failure_ = has_error ? json["error"].get<std::string>() : "the note of what failed cannot be read";
    }
  }
  if (!status_mark_) return;
  const auto progress_mark = place_.folder->mark(progress_file_);
  if (progress_mark == progress_mark_) return;
  progress_mark_ = progress_mark;
  constexpr size_t kMostDigits = 100;
  const auto text = place_.folder->read_whole(progress_file_, kMostDigits);
  try {
    noted_progress_ = text ? parse_number(*text, "progress") : 0;
  } catch (const Error&) {
    noted_progress_ = 0;
  }
  if (!(noted_progress_ >= 0 && noted_progress_ <= 1)) noted_progress_ = 0;
}

RunEvidence::Holder WatchedRun::find_holder(const WatchMoment& moment, bool is_due) {
  using Holder = RunEvidence::Holder;
  const auto is_held_here = [&] {
    return lock_mark_ && lock_holder_ && lock_holder_->machine == moment.machine &&
           moment.locks.contains({lock_holder_->process, lock_mark_->inode});
  };
  if (is_held_here()) return Holder::kHere;
  if (is_due) {
    const auto mark = place_.folder->mark(lock_file_);
    if (mark != lock_mark_) {
      lock_mark_ = mark;
      constexpr size_t kMostLetters = 1000;
      lock_holder_ = parse_lock_holder(place_.folder->read_whole(lock_file_, kMostLetters).value_or(""));
    }
    if (lock_holder_) machine_ = lock_holder_->machine;
    if (is_held_here()) return Holder::kHere;
  }
  if (!lock_mark_) return Holder::kNobody;
  return lock_holder_ && lock_holder_->machine == moment.machine ? Holder::kNobody : Holder::kElsewhere;
}

bool WatchedRun::look(const WatchMoment& moment, bool reads_records) {
  const bool is_first = looks_ == 0;
  const std::string before = state_ + problem_ + failure_;
  const double progress_before = noted_progress_;
  const bool was_left = has_more();
  const bool has_new_status = look_at_status();
  const bool has_new_records = reads_records && look_at_records(moment.now);
  are_records_left_ = !reads_records && place_.folder->mark(metrics_file_) != tail_.mark();
  look_at_sweep();
  double newest = 0;
  for (const auto& mark : {status_mark_, tail_.mark(), progress_mark_}) {
    if (mark) newest = std::max(newest, mark->modified_seconds());
  }
  const bool is_written = newest > changed_at_;
  changed_at_ = std::max(changed_at_, newest);
  RunEvidence evidence{.word = status_.value("status", ""), .has_failed = failure_mark_.has_value()};
  const bool has_ended = evidence.word == "done" || evidence.word == "diverged";
  if (!has_ended) {
    // Who goes on with a run writes its status too; in between a look now and then is enough.
    constexpr int64_t kLooksBetween = 8;
    const bool is_due =
        looks_++ % kLooksBetween == 0 || has_new_status || has_new_records || state_ == "running";
    evidence.holder = find_holder(moment, is_due);
    // A lock of another container is not seen here. What is written after it was found free is a sign of
    // life.
    if (evidence.holder == RunEvidence::Holder::kNobody) {
      if (!was_nobody_) nobody_since_ = moment.now;
      const bool is_alive = was_nobody_ && changed_at_ > nobody_since_ && evidence.word == "running";
      was_nobody_ = true;
      if (is_alive) evidence.holder = RunEvidence::Holder::kElsewhere;
    } else {
      was_nobody_ = false;
    }
  }
  evidence.quiet_seconds = moment.now - changed_at_;
  evidence.usual_seconds = usual_seconds_;
  problem_ = find_problem(has_ended);
  evidence.is_broken = !problem_.empty();
  state_ = state_word(evidence);
  if (has_new_records && has_ended && !has_more()) columns_.shrink();
  return is_first || has_new_status || has_new_records || is_written || noted_progress_ != progress_before ||
         was_left != has_more() || before != state_ + problem_ + failure_;
}

double WatchedRun::find_progress() const {
  if (state_ == "done" || state_ == "diverged") return 1;
  if (noted_progress_ > 0) return noted_progress_;
  if (!config_) return 0;
  const double epoch = columns_.newest("epoch");
  double share = 0;
  if (config_->epochs && *config_->epochs > 0) share = epoch / static_cast<double>(*config_->epochs);
  if (config_->budget_epochs && *config_->budget_epochs > 0) {
    // Passes are counted in outer batches, of which the config knows the size.
    double samples = static_cast<double>(config_->train_limit);
    if (samples <= 0) {
      const double outer = std::atof(config_->outer_batch.c_str());
      samples = outer * columns_.newest("outer_steps") / epoch;
    }
    share = std::max(share, columns_.newest("sample_gradients") / (*config_->budget_epochs * samples));
  }
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
}

double WatchedRun::rate() const {
  const size_t rows = columns_.kept();
  if (rows < 2) return columns_.newest("sample_gradients") / columns_.newest("seconds");
  constexpr size_t kLookBack = 4;
  const size_t first = rows - 1 - std::min(kLookBack, rows - 1);
  const auto gain = [&](const char* key) { return columns_.at(key, rows - 1) - columns_.at(key, first); };
  return gain("sample_gradients") / gain("seconds");
}

double WatchedRun::seconds_left(double now) const {
  if (state_ != "running" || columns_.count() == 0) return NAN;
  const double seconds = columns_.newest("seconds");
  const bool is_noted = noted_progress_ > 0;
  const double progress = find_progress();
  const double since_record = tail_.mark() ? now - tail_.mark()->modified_seconds() : 0;
  if (!(progress > 0) || !(seconds > 0)) return NAN;
  const double spent = is_noted ? seconds + std::max(0.0, since_record) : seconds;
  const double left = spent * (1 - progress) / progress;
  return std::max(0.0, is_noted ? left : left - since_record);
}

Json WatchedRun::summary(double now) const {
  Json json = {{"id", id_},
               {"path", place_.path().string()},
               {"status", state_},
               {"progress", find_progress()},
               {"records", columns_.count()}};
  if (has_more()) json["is_being_read"] = true;
  if (place_.description) {
    json["sweep"] = id_of_path(place_.sweep_path());
    if (const SweepFile::Run* run = find_run(*place_.description, place_.id_in_sweep)) {
      Json labels = run->labels;
      if (!run->choice.empty())
        labels.push_back(fmt::format("{} {}", place_.description->choice_key, run->choice));
      json["labels"] = std::move(labels);
      json["seed"] = run->seed;
    }
  }
  if (config_) {
    json["seed"] = config_->seed;
    json["dataset"] = config_->dataset;
    json["model"] = config_->model;
    json["method"] = config_->method;
    json["lr"] = config_->lr;
  }
  Json last = Json::object();
  for (const auto& [key, value] : columns_.newest_values()) last[key] = value;
  json["last"] = std::move(last);
  json["samples_per_second"] = number_or_null(rate());
  json["seconds_left"] = number_or_null(seconds_left(now));
  json["changed"] = changed_at_ > 0 ? Json(std::round(changed_at_)) : Json();
  if (!machine_.empty()) json["machine"] = machine_;
  if (!failure_.empty()) json["error"] = failure_;
  if (!problem_.empty()) json["problem"] = problem_;
  return json;
}

}  // namespace batchplus
