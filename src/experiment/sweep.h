#pragma once

#include <filesystem>

#include "experiment/spec.h"
#include "experiment/training_run.h"

namespace batchplus {

/// Where the runs of a sweep are. Several processes, also on several machines, may share it: the file system
/// is the queue, and a lock on a file says who works on a run.
struct SweepDirectory {
  std::filesystem::path root;

  std::filesystem::path run(const std::string& id) const { return root / "runs" / id; }
  std::filesystem::path lock(const std::string& id) const { return root / "locks" / (id + ".lock"); }
  /// What went wrong with a run that failed.
  std::filesystem::path failure(const std::string& id) const { return root / "failed" / (id + ".json"); }
  /// The share of a running run that is done.
  std::filesystem::path progress(const std::string& id) const { return root / "progress" / id; }
  /// What a worker printed.
  std::filesystem::path log(int64_t worker) const;

  void create() const;
};

enum class SweepState { kWaiting, kRunning, kDone, kDiverged, kFailed };
std::string to_string(SweepState state);

/// From the files alone. A run whose worker died counts as running until another one takes it.
SweepState state_of(const SweepDirectory& directory, const std::string& id);

/// The share of a running run that is done, as last noted.
double progress_of(const SweepDirectory& directory, const std::string& id);

/// Runs one run unless it is finished, has failed before or belongs to another process. An unfinished one
/// that nobody works on is resumed. What goes wrong is noted and not thrown. Returns whether it ran.
bool run_one(const SweepDirectory& directory, const SpecRun& run, const RunEnvironment& environment);

/// Runs all that are waiting, pass after pass, until none is left to take or a signal stops it.
void run_worker(const SweepDirectory& directory, const std::vector<SpecRun>& runs,
                const RunEnvironment& environment);

/// Lets the runs that failed be tried again.
void forget_failures(const SweepDirectory& directory, const std::vector<SpecRun>& runs);

}  // namespace batchplus
