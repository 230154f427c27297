#include "sweep/queue.h"

#include <fmt/format.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/file.h"
#include "util/file_lock.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;

namespace {

void note_failure(const SweepDirectory& directory, const SpecRun& run, const std::exception& problem) {
  const Json failure = {{"id", run.id}, {"error", problem.what()}, {"time", utc_timestamp()}};
  write_file_atomically(directory.failure(run.id), failure.dump(2) + "\n");
}

}  // namespace

bool run_one(const SweepDirectory& directory, const SpecRun& run, const RunEnvironment& environment) {
  const auto has_ended = [&] { return !is_open(state_of(directory, run.id)); };
  if (has_ended()) return false;
  std::unique_ptr<FileLock> lock;
  try {
    lock = FileLock::try_lock(directory.lock(run.id));
  } catch (const Error& problem) {
    // The other runs have locks of their own.
    note_failure(directory, run, problem);
    return true;
  }
  // Somebody may have finished it in between.
  if (!lock || has_ended()) return false;

  RunConfig config = run.config;
  config.out = directory.run(run.id);
  RunEnvironment noted = environment;
  noted.is_resuming = true;
  Stopwatch since_note;
  double last_note = -1;
  noted.on_progress = [&](double fraction) {
    constexpr double kSecondsBetween = 1;
    if (last_note >= 0 && since_note.seconds() - last_note < kSecondsBetween) return;
    last_note = since_note.seconds();
    write_file_atomically(directory.progress(run.id), format_number(fraction));
  };
  try {
    run_training(config, noted);
  } catch (const std::exception& problem) {
    note_failure(directory, run, problem);
  }
  fs::remove(directory.progress(run.id));
  return true;
}

void run_worker(const SweepDirectory& directory, const std::vector<SpecRun>& runs,
                const RunEnvironment& environment) {
  for (bool has_worked = true; has_worked;) {
    has_worked = false;
    for (const SpecRun& run : runs) {
      if (environment.stop_signal && environment.stop_signal() != 0) return;
      if (run_one(directory, run, environment)) has_worked = true;
    }
  }
}

void forget_failures(const SweepDirectory& directory, const std::vector<SpecRun>& runs) {
  for (const SpecRun& run : runs) fs::remove(directory.failure(run.id));
}

}  // namespace batchplus
