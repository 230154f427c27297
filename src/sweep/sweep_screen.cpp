#include "sweep/sweep_screen.h"

#include <fmt/format.h>

#include "util/progress.h"
#include "util/terminal.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr double kSecondsBetweenLines = 60;
/// What a few steps took says little of hours.
constexpr double kSecondsBeforeEstimate = 30;

}  // namespace

std::string describe(const SweepTally& tally) {
  std::vector<std::string> parts;
  for (const SweepState state : kSweepStates) {
    if (tally.count(state) > 0) parts.push_back(fmt::format("{} {}", tally.count(state), to_string(state)));
  }
  return join(parts, ", ");
}

SweepScreen::SweepScreen(size_t columns, Clock clock) : columns_(columns), clock_(std::move(clock)) {}

std::string SweepScreen::picture(const SweepTally& tally) {
  if (done_at_start_ < 0) done_at_start_ = tally.done;
  return columns_ > 0 ? drawing(tally) : line(tally);
}

std::string SweepScreen::line(const SweepTally& tally) {
  const double now = clock_();
  const bool is_first_begun = !has_begun_ && !tally.running.empty();
  const bool is_news = tally.count_ended() != ended_ || is_first_begun;
  has_begun_ = has_begun_ || is_first_begun;
  const bool is_due = now - last_line_seconds_ >= kSecondsBetweenLines;
  if (!is_news && !is_due) return "";
  ended_ = tally.count_ended();
  last_line_seconds_ = now;
  std::string text = describe(tally);
  // The rate counts what was done since this process began.
  const double rate = now > 0 ? (tally.done - done_at_start_) / now : 0;
  if (!tally.is_finished() && tally.total > 0) {
    text += fmt::format("; {:.0f}% of the whole", 100 * tally.done / tally.total);
    if (rate > 0 && now >= kSecondsBeforeEstimate)
      text += fmt::format(", {} left", format_duration((tally.total - tally.done) / rate));
  }
  std::vector<std::string> running;
  for (const auto& [label, share] : tally.running)
    running.push_back(fmt::format("{} {:.0f}%", label, 100 * share));
  if (!running.empty()) text += fmt::format("; running: {}", join(running, "; "));
  return text + "\n";
}

std::string SweepScreen::drawing(const SweepTally& tally) {
  std::vector<std::string> rows = {
      describe(tally), progress_text(tally.done - done_at_start_, tally.total - done_at_start_, clock_(),
                                     "samples", 0, kSecondsBeforeEstimate)};
  for (const auto& [label, share] : tally.running)
    rows.push_back(fmt::format("  {:>4.0f}%  {}", 100 * share, label));
  std::string text = lines_ > 0 ? fmt::format("\x1b[{}A\x1b[J", lines_) : "";
  for (const std::string& row : rows) text += fit_line(row, columns_) + "\n";
  lines_ = rows.size();
  return text;
}

}  // namespace batchplus
