#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace batchplus {

/// What is known of a run without writing or locking anything.
struct RunEvidence {
  /// Of status.json: "running", "interrupted", "done", "diverged"; empty: there is none yet.
  std::string word = {};
  /// A sweep has noted that it failed.
  bool has_failed = false;
  /// A file of it cannot be used.
  bool is_broken = false;
  /// Who has the run's lock: a process of this machine that is seen to hold it, nobody, or one elsewhere (or
  /// in another container), of which only what it writes can be seen.
  enum class Holder { kNobody, kHere, kElsewhere };
  Holder holder = Holder::kNobody;
  /// Seconds since one of its files last changed.
  double quiet_seconds = 0;
  /// The longest time between two changes that was seen.
  double usual_seconds = 0;
};

/// "waiting", "running", "done", "diverged", "failed", "interrupted", "silent" or "broken". Silent: it should
/// be running, and has written nothing for several times as long as it usually takes, and two minutes at
/// least.
std::string state_word(const RunEvidence& evidence);

/// Whether nothing more is expected of a run.
bool is_final(const std::string& state);

/// Inodes of files that a process of this machine holds locked by flock, with the process, from the text of
/// /proc/locks. Reading it takes no lock, as asking by flock would for a moment.
std::set<std::pair<int64_t, uint64_t>> held_locks(const std::string& proc_locks);

/// The process and the machine in a lock's text, "process 4711 on HOST, since ...".
struct LockHolder {
  int64_t process = 0;
  std::string machine;
};
std::optional<LockHolder> parse_lock_holder(const std::string& text);

}  // namespace batchplus
