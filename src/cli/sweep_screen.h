#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiment/sweep.h"
#include "experiment/sweep_plan.h"
#include "util/clock.h"

namespace batchplus {

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
  bool is_finished() const { return count(SweepState::kWaiting) + count(SweepState::kRunning) == 0; }
};

SweepTally tally(const SweepDirectory& directory, const std::vector<PlannedRun>& runs);

/// "CIFAR10, VGG11, BP-SVRG, lr 0.5, seed 2".
std::string describe(const SpecRun& run);

/// "12 done, 1 diverged, 2 running, 30 waiting".
std::string describe(const SweepTally& tally);

/// One picture of a whole sweep on a terminal, drawn over itself; without a terminal, a line whenever a run
/// ends.
class SweepScreen {
 public:
  explicit SweepScreen(bool is_quiet);
  void show(const SweepTally& tally);
  /// Leaves the last picture where it is.
  void finish();

 private:
  bool is_quiet_;
  bool is_terminal_;
  size_t lines_ = 0;
  int64_t ended_ = -1;
  double done_at_start_ = -1;
  Stopwatch stopwatch_;
};

}  // namespace batchplus
