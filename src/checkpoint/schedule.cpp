#include "checkpoint/schedule.h"

#include <cmath>
#include <map>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr const char* kHint = "epochs (1, 0.25), a time (90s, 10m, 2h), both (1,10m), or never";

double positive(const std::string& text, const std::string& whole, const std::string& where) {
  try {
    const double number = parse_number(text, where);
    if (std::isfinite(number) && number > 0) return number;
  } catch (const Error&) {
  }
  throw Error("not a checkpoint schedule", {where, whole, kHint});
}

}  // namespace

CheckpointSchedule CheckpointSchedule::parse(const std::string& text, const std::string& where, Clock clock) {
  static const std::map<char, double> kUnits = {{'s', 1}, {'m', 60}, {'h', 3600}};
  CheckpointSchedule schedule(std::move(clock));
  if (text == "never") return schedule;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) throw Error("not a checkpoint schedule", {where, text, kHint});
    const auto unit = kUnits.find(part.back());
    std::optional<double>& limit = unit == kUnits.end() ? schedule.epochs_ : schedule.seconds_;
    if (limit) throw Error("not a checkpoint schedule", {where, text, kHint});
    limit = unit == kUnits.end() ? positive(part, text, where)
                                 : unit->second * positive(part.substr(0, part.size() - 1), text, where);
  }
  return schedule;
}

bool CheckpointSchedule::is_due(const TrainState& state) const {
  if (!epochs_ && !seconds_) return false;
  if (state.is_over) return !was_over_;
  if (seconds_ && clock_() - last_seconds_ >= *seconds_) return true;
  // The end of an epoch is a moment later, after its record.
  const bool has_record_to_come =
      state.outer_batches > 0 && state.last.epochs_done == std::floor(state.last.epochs_done);
  constexpr double kRounding = 1e-9;
  return epochs_ && !has_record_to_come && state.last.epochs_done - last_epoch_ >= *epochs_ - kRounding;
}

void CheckpointSchedule::restart(const TrainState& state) {
  last_epoch_ = state.last.epochs_done;
  was_over_ = state.is_over;
  last_seconds_ = clock_();
}

}  // namespace batchplus
