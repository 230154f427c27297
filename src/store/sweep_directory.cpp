#include "store/sweep_directory.h"

#include <fmt/format.h>

#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/file_lock.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;

fs::path SweepDirectory::log(int64_t worker) const {
  return root / "logs" / fmt::format("worker-{}.log", worker);
}

void SweepDirectory::create() const {
  for (const char* folder : {"runs", "locks", "failed", "progress", "logs"}) make_directories(root / folder);
}

std::optional<SweepDirectory> SweepDirectory::holding(const fs::path& run) {
  std::error_code ignored;
  // A link to a run, or a path that ends in a dot, leads to the same directory.
  const fs::path runs = fs::weakly_canonical(fs::absolute(run), ignored).parent_path();
  const SweepDirectory sweep{runs.parent_path()};
  if (runs.filename() != "runs" || !fs::exists(sweep.description())) return std::nullopt;
  return sweep;
}

std::string to_string(SweepState state) {
  switch (state) {
    case SweepState::kWaiting: return "waiting";
    case SweepState::kRunning: return "running";
    case SweepState::kInterrupted: return "interrupted";
    case SweepState::kDone: return "done";
    case SweepState::kDiverged: return "diverged";
    case SweepState::kFailed: return "failed";
    case SweepState::kMisplaced: return "misplaced";
  }
  BATCHPLUS_CHECK(false, "the switch covers every state");
}

bool is_open(SweepState state) {
  return state == SweepState::kWaiting || state == SweepState::kInterrupted || state == SweepState::kRunning;
}

namespace {

/// Whether a process works on the run. That of a sweep holds both locks, and `train --resume` the run's own.
bool is_held(const SweepDirectory& directory, const std::string& id) {
  return !is_free(directory.lock(id)) || !is_free(RunLayout{directory.run(id)}.lock());
}

bool are_records_whole(const RunLayout& layout, RecordsCheck check) {
  try {
    if (check == RecordsCheck::kPresence) return has_records(layout);
    read_records(layout, read_status(layout));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

SweepState state_of(const SweepDirectory& directory, const std::string& id, RecordsCheck check) {
  if (fs::exists(directory.failure(id))) return SweepState::kFailed;
  const RunLayout layout{directory.run(id)};
  if (!fs::exists(layout.status())) return SweepState::kWaiting;
  const std::string word = read_status_word(layout.root);
  // Going on with a run makes records good that were lost.
  const bool is_ended = word == "done" || word == "diverged";
  if (is_ended && are_records_whole(layout, check))
    return word == "done" ? SweepState::kDone : SweepState::kDiverged;
  return is_held(directory, id) ? SweepState::kRunning : SweepState::kInterrupted;
}

double progress_of(const SweepDirectory& directory, const std::string& id) {
  if (!fs::exists(directory.progress(id))) return 0;
  try {
    return parse_number(read_file(directory.progress(id)), "progress");
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace batchplus
