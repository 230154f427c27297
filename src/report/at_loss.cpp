#include "report/at_loss.h"

#include <algorithm>

#include "util/error.h"

namespace batchplus {

AtLoss value_at_loss(const StoredRun& run, const std::string& quantity, double level) {
  using Outcome = AtLoss::Outcome;
  struct Point {
    double loss;
    double value;
  };
  std::optional<Point> before;
  for (const Json& record : run.metrics) {
    const auto loss = evaluated_train_loss(record);
    const auto value = recorded_value(record, quantity);
    if (!loss || !value) continue;
    if (*loss <= level) {
      if (*loss == level) return {Outcome::kReached, value};
      if (!before) return {Outcome::kBelowFromTheStart, std::nullopt};
      const double part = (before->loss - level) / (before->loss - *loss);
      return {Outcome::kReached, before->value + part * (*value - before->value)};
    }
    before = {*loss, *value};
  }
  return {before ? Outcome::kNever : Outcome::kNotRecorded, std::nullopt};
}

SeedValues values_at_loss(const ComparedCell& cell, const std::string& quantity, double level) {
  return collect_values(cell,
                        [&](const StoredRun& run) { return value_at_loss(run, quantity, level).value; });
}

void require_evaluated_train_loss(const Comparison& comparison) {
  const auto has_loss = [](const Json& record) { return evaluated_train_loss(record).has_value(); };
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.record) continue;
      const auto& records = run.record->metrics;
      if (std::any_of(records.begin(), records.end(), has_loss)) return;
    }
  }
  throw Error(
      "no run has recorded its training loss in evaluation mode",
      {"at_loss", comparison.name,
       "train with the metric group gaps (metrics = \"gaps\"), which evaluates it; the running loss is "
       "taken at other points for other methods"});
}

}  // namespace batchplus
