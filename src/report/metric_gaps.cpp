#include "report/metric_gaps.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace batchplus {

bool MetricGap::is_log() const {
  return metric.is_log &&
         std::all_of(points.begin(), points.end(), [](const Point& point) { return point.metric > 0; });
}

std::vector<MetricGap> compare_metrics_with_gaps(const Comparison& comparison) {
  std::vector<MetricGap> all;
  const auto& columns = comparison.columns().labels;
  for (const ReportedQuantity& known : reported_quantities()) {
    if (!known.is_metric) continue;
    const ReportedQuantity metric = find_measured_quantity(comparison, known.name, "metrics");
    for (const char* gap_name : {"loss_gap", "accuracy_gap"}) {
      MetricGap one{.metric = metric, .gap = find_quantity(gap_name, ""), .points = {}, .correlation = {}};
      std::vector<double> x;
      std::vector<double> y;
      for (const ComparedCell& cell : comparison.cells) {
        const auto column = std::find(columns.begin(), columns.end(), cell.labels.back()) - columns.begin();
        for (const ComparedRun& run : cell.runs) {
          if (!run.is_done()) continue;
          const auto value = final_value(*run.record, metric.name);
          const auto gap = final_value(*run.record, gap_name);
          if (!value || !gap) continue;
          x.push_back(*value);
          y.push_back(*gap);
          one.points.push_back({*value, *gap, static_cast<size_t>(column),
                                fmt::format("{}, seed {}", join(cell.labels, ", "), run.seed)});
        }
      }
      if (one.points.empty()) continue;
      one.correlation = kendall(x, y);
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace batchplus
