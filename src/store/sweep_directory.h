#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace batchplus {

/// Where the runs of a sweep are. Several processes, also on several machines, may share it: the file system
/// is the queue, and a lock on a file says who works on a run.
struct SweepDirectory {
  std::filesystem::path root;

  /// What the sweep is (config/sweep_file.h).
  std::filesystem::path description() const { return root / "sweep.json"; }
  std::filesystem::path run(const std::string& id) const { return root / "runs" / id; }
  std::filesystem::path lock(const std::string& id) const { return root / "locks" / (id + ".lock"); }
  /// What went wrong with a run that failed.
  std::filesystem::path failure(const std::string& id) const { return root / "failed" / (id + ".json"); }
  /// The share of a running run that is done.
  std::filesystem::path progress(const std::string& id) const { return root / "progress" / id; }
  /// What a worker printed.
  std::filesystem::path log(int64_t worker) const;

  void create() const;

  /// The sweep that has this run directory as runs/ID; nothing when it is in none.
  static std::optional<SweepDirectory> holding(const std::filesystem::path& run);
};

/// kInterrupted: begun, not at its end, and nobody works on it; to be resumed. kMisplaced: the directory of
/// the run holds another one. state_of does not know it, because it does not read configs.
enum class SweepState { kDone, kDiverged, kFailed, kMisplaced, kRunning, kInterrupted, kWaiting };
inline constexpr std::array kSweepStates = {
    SweepState::kDone,    SweepState::kDiverged,    SweepState::kFailed, SweepState::kMisplaced,
    SweepState::kRunning, SweepState::kInterrupted, SweepState::kWaiting};
/// Whether there is something left to do about a run.
bool is_open(SweepState state);
std::string to_string(SweepState state);

/// How closely the records of a finished run are looked at: whether they are those that its status vouches
/// for, or, for who asks all the time, whether there are some.
enum class RecordsCheck { kChecksum, kPresence };

/// From files and locks. A run whose worker was killed is interrupted, whatever its last status says, and so
/// is a finished one whose records are lost or damaged.
SweepState state_of(const SweepDirectory& directory, const std::string& id,
                    RecordsCheck check = RecordsCheck::kChecksum);

/// The share of a running run that is done, as last noted.
double progress_of(const SweepDirectory& directory, const std::string& id);

}  // namespace batchplus
