#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// What a curve can be drawn against.
struct XAxis {
  std::string name;
  std::string label;
  /// In the records.
  std::string key;
};
const std::vector<XAxis>& x_axes();

/// What a report shows.
struct ReportOptions {
  /// Quantities of the records: test_accuracy, test_loss, loss_gap, ...
  std::vector<std::string> tables = {"test_accuracy"};
  std::vector<std::string> curves = {"test_accuracy", "test_loss"};
  /// The name of an XAxis.
  std::string x = "epochs";
  /// Moving average over so many points, an odd number; 1: none.
  int64_t smooth = 1;
  /// Evaluated training losses at which runs are compared; none: only at the end.
  std::vector<double> at_loss = {};
};

/// Levels of the training loss, each more than zero. An Error names `where`.
std::vector<double> parse_loss_levels(const std::vector<std::string>& texts, const std::string& where);

/// The window of a moving average: a point, and as many before it as behind it. An Error names `where`.
int64_t require_window(int64_t points, const std::string& where);

/// What a paper published for a cell.
struct PublishedValue {
  double mean = 0;
  std::optional<double> std = {};
};

}  // namespace batchplus
