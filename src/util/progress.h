#pragma once

#include <cstdio>
#include <string>

#include "util/clock.h"

namespace batchplus {

/// A one-line progress bar with rate and ETA, drawn on stderr when that is a terminal and not at all
/// otherwise. Lines of text printed through it do not collide with the bar.
class Progress {
 public:
  struct Options {
    /// What is counted, for the rate: "samples", "B".
    std::string unit = "samples";
    bool is_quiet = false;
  };

  explicit Progress(Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So much was done before this process, and does not count in its rate.
  void count_from(double done);
  /// `done` and `total` in units; `label` stands before the bar. Redraws at most ten times a second.
  void update(double done, double total, const std::string& label);
  /// A line that stays, above the bar. Printed without a terminal too, unless quiet.
  void print_line(const std::string& line);
  /// Removes the bar.
  void clear();

 private:
  Options options_;
  bool is_terminal_;
  bool is_drawn_ = false;
  double last_draw_seconds_ = -1;
  double done_before_ = 0;
  Stopwatch stopwatch_;
};

/// "[#####.....]  42%  1,234 samples/s  ETA 1m15s": the text of a bar, without its label.
/// `done_before` of it took none of the seconds. The ETA is "?" for the first `seconds_unsure`.
std::string progress_text(double done, double total, double seconds, const std::string& unit,
                          double done_before = 0, double seconds_unsure = 0);

/// A label with a progress_text, on a line of so many columns: without the bar, or cut, where it is too long.
std::string progress_line(const std::string& label, const std::string& text, size_t columns);

}  // namespace batchplus
