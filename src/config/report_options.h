#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchplus {

/// What a report shows.
struct ReportOptions {
  /// Quantities of the records: test_accuracy, test_loss, loss_gap, ...
  std::vector<std::string> tables = {"test_accuracy"};
  std::vector<std::string> curves = {"test_accuracy", "test_loss"};
  /// epochs, evaluations, seconds or loss (running, of training).
  std::string x = "epochs";
  /// Moving average over so many points; 1: none.
  int64_t smooth = 1;
};

/// What a paper published for a cell.
struct PublishedValue {
  double mean = 0;
  std::optional<double> std = {};
};

}  // namespace batchplus
