#pragma once

#include "report/comparison.h"
#include "report/quantities.h"

namespace batchplus {

/// A metric at the end of training against the measured gap, over all runs.
struct MetricGap {
  ReportedQuantity metric = {};
  ReportedQuantity gap = {};
  struct Point {
    double metric = 0;
    double gap = 0;
    /// On the compared axis.
    size_t column = 0;
    std::string name = {};
  };
  std::vector<Point> points = {};
  RankCorrelation correlation = {};

  bool is_log() const;
};

/// Every metric that runs measured, against the loss gap and the accuracy gap.
std::vector<MetricGap> compare_metrics_with_gaps(const Comparison& comparison);

}  // namespace batchplus
