#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/sweep_request.h"
#include "store/sweep_directory.h"
#include "sweep/plan.h"

namespace batchplus {

/// A spec with its runs at a scale.
struct Sweep {
  Spec spec;
  std::string scale;
  std::vector<PlannedRun> planned;
  SweepDirectory directory;

  std::vector<SpecRun> runs() const;
};

Sweep open_sweep(const SweepRequest& request);

/// Makes the directory and says in it what the sweep is.
void begin_sweep(const Sweep& sweep);

/// How many runs of a sweep are in each state, and how much of the whole is done.
struct SweepTally {
  std::map<SweepState, int64_t> counts;
  /// Sample gradients.
  double done = 0;
  double total = 0;
  /// Labels and shares of those that run.
  std::vector<std::pair<std::string, double>> running;

  int64_t count(SweepState state) const {
    const auto found = counts.find(state);
    return found == counts.end() ? 0 : found->second;
  }
  int64_t count_ended() const {
    return count(SweepState::kDone) + count(SweepState::kDiverged) + count(SweepState::kFailed);
  }
  bool is_finished() const {
    return std::none_of(counts.begin(), counts.end(),
                        [](const auto& entry) { return is_open(entry.first) && entry.second > 0; });
  }
};

SweepTally tally(const Sweep& sweep, RecordsCheck check = RecordsCheck::kChecksum);

/// A run of the sweep whose directory holds another one.
struct MisplacedRun {
  SpecRun run;
  /// As tally() counts it.
  SweepState state;
  /// "epochs is 6, not 2".
  std::string differences;
};

/// Compares the configs of all run directories, of which tally() looks at the status alone.
std::vector<MisplacedRun> find_misplaced(const Sweep& sweep);
/// The same of one run.
std::optional<MisplacedRun> find_misplaced(const SweepDirectory& directory, const PlannedRun& row);

/// "CIFAR10, VGG11, BP-SVRG, lr 0.5, seed 2".
std::string describe(const SpecRun& run);

}  // namespace batchplus
