#pragma once

#include <string>

#include "sweep/sweep.h"
#include "util/clock.h"

namespace batchplus {

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
