#pragma once

#include <functional>
#include <string>

#include "sweep/sweep.h"
#include "util/clock.h"

namespace batchplus {

/// "12 done, 1 diverged, 2 running, 30 waiting".
std::string describe(const SweepTally& tally);

/// One picture of a whole sweep on a terminal, drawn over itself. Elsewhere lines: when the first run
/// begins, when one ends, and every
/// minute what runs, how far it is, and how long it may still take.
class SweepScreen {
 public:
  /// Seconds since the sweep began.
  using Clock = std::function<double()>;

  /// `columns`: of the terminal; 0: there is none that can be drawn on. A test hands a clock of its own in.
  explicit SweepScreen(
      size_t columns, Clock clock = [since = Stopwatch()] { return since.seconds(); });

  /// What to print now; empty: nothing.
  std::string picture(const SweepTally& tally);
  /// Something else was printed below the picture: the next one is not drawn over it.
  void leave_picture() { lines_ = 0; }

 private:
  std::string line(const SweepTally& tally);
  std::string drawing(const SweepTally& tally);

  size_t columns_;
  Clock clock_;
  size_t lines_ = 0;
  int64_t ended_ = -1;
  bool has_begun_ = false;
  double last_line_seconds_ = 0;
  double done_at_start_ = -1;
};

}  // namespace batchplus
