#include "cli/sweep_screen.h"

#include <fmt/format.h>
#include <unistd.h>

#include "util/progress.h"
#include "util/text.h"

namespace batchplus {

std::string describe(const SweepTally& tally) {
  std::vector<std::string> parts;
  for (const SweepState state : kSweepStates) {
    if (tally.count(state) > 0) parts.push_back(fmt::format("{} {}", tally.count(state), to_string(state)));
  }
  return join(parts, ", ");
}

SweepScreen::SweepScreen(bool is_quiet) : is_quiet_(is_quiet), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void SweepScreen::show(const SweepTally& tally) {
  if (is_quiet_) return;
  if (done_at_start_ < 0) done_at_start_ = tally.done;
  const int64_t ended =
      tally.count(SweepState::kDone) + tally.count(SweepState::kDiverged) + tally.count(SweepState::kFailed);
  if (!is_terminal_) {
    if (ended != ended_) fmt::print(stderr, "{}\n", describe(tally));
    ended_ = ended;
    return;
  }
  std::string picture = lines_ > 0 ? fmt::format("\x1b[{}A\x1b[J", lines_) : "";
  // The rate counts what was done since this process began.
  picture += fmt::format("{}\n", describe(tally));
  picture += fmt::format("{}\n", progress_text(tally.done - done_at_start_, tally.total - done_at_start_,
                                               stopwatch_.seconds(), "samples"));
  lines_ = 2;
  for (const auto& [label, share] : tally.running) {
    picture += fmt::format("  {:>4.0f}%  {}\n", 100 * share, label);
    ++lines_;
  }
  fmt::print(stderr, "{}", picture);
}

void SweepScreen::finish() {
  lines_ = 0;
}

}  // namespace batchplus
