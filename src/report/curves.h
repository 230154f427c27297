#pragma once

#include <map>

#include "report/comparison.h"
#include "report/quantities.h"

namespace batchplus {

/// One line of a figure: a quantity after each epoch, over the seeds of a cell.
struct Curve {
  std::string name = {};
  /// Its place on the compared axis, and so its colour.
  size_t index = 0;
  /// Runs in it, and those left out because they diverged.
  size_t n = 0;
  size_t diverged = 0;
  /// By the name of an x axis, the mean over the runs at each point; not a number where a record lacks it.
  /// Only axes that some records have.
  std::map<std::string, std::vector<double>> x = {};
  std::vector<double> mean = {};
  /// Empty for a single run; not a number where only one run has got so far.
  std::vector<double> std = {};
  /// Runs at each point: all of them, unless some are still running.
  std::vector<size_t> counts = {};
};

/// One picture: all curves of a row of the grid.
struct Panel {
  /// For file names: test_loss-ResNet32.
  std::string name = {};
  std::string title = {};
  ReportedQuantity quantity = {};
  std::vector<Curve> curves = {};
};

/// A picture for each row of the grid and each quantity of the options that was recorded.
std::vector<Panel> make_panels(const Comparison& comparison);

/// Mean over `window` points around each, fewer near the ends, so that the first and the last value stay.
/// What is not a number is passed over, and stays so.
std::vector<double> moving_average(const std::vector<double>& values, int64_t window);

}  // namespace batchplus
