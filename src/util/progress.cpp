#include "util/progress.h"
#include "util/standard_streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "util/terminal.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;

}  // namespace

std::string progress_text(double done, double total, double seconds, const std::string& unit,
                          double done_before, double seconds_unsure) {
  const double fraction = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0.0;
  const int filled = static_cast<int>(fraction * kBarWidth);
  const double rate = seconds > 0 ? (done >= done_before ? done - done_before : done) / seconds : 0;
  const bool has_estimate = rate > 0 && seconds >= seconds_unsure;
  const std::string eta = has_estimate ? format_duration(std::max(0.0, total - done) / rate) : "?";
  return fmt::format("[{}{}] {:3.0f}%  {} {}/s  ETA {}", std::string(filled, '#'),
                     std::string(kBarWidth - filled, '.'), 100 * fraction,
                     format_count(static_cast<int64_t>(rate)), unit, eta);
}

std::string progress_line(const std::string& label, const std::string& text, size_t columns) {
  const std::string whole = fmt::format("{}  {}", label, text);
  if (fit_line(whole, columns) == whole) return whole;
  const size_t bar_end = text.find("] ");
  const std::string numbers = bar_end == std::string::npos ? text : text.substr(bar_end + 2);
  return fit_line(fmt::format("{} {}", label, numbers), columns);
}

Progress::Progress(Options options) : options_(std::move(options)), is_terminal_(can_redraw(STDERR_FILENO)) {}

Progress::~Progress() {
  clear();
}

void Progress::count_from(double done) {
  done_before_ = done;
  stopwatch_ = Stopwatch();
  last_draw_seconds_ = -1;
}

void Progress::update(double done, double total, const std::string& label) {
  if (options_.is_quiet || !is_terminal_) return;
  const double now = stopwatch_.seconds();
  if (last_draw_seconds_ >= 0 && now - last_draw_seconds_ < kRedrawSeconds) return;
  last_draw_seconds_ = now;
  is_drawn_ = true;
  const std::string text = progress_text(done, total, now, options_.unit, done_before_);
  tell("\r\033[K{}", progress_line(label, text, columns_of(STDERR_FILENO)));
  std::fflush(stderr);
}

void Progress::print_line(const std::string& line) {
  clear();
  if (!options_.is_quiet) tell("{}\n", line);
}

void Progress::clear() {
  if (!is_drawn_) return;
  tell("\r\033[K");
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace batchplus
