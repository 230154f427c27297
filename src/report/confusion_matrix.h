#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchplus {

/// How often samples of a class (the row) were taken for another (the column).
struct ConfusionMatrix {
  std::vector<std::string> classes;
  /// [classes][classes]
  std::vector<int64_t> counts;

  int64_t at(size_t truth, size_t prediction) const { return counts[truth * classes.size() + prediction]; }
  int64_t samples(size_t truth) const;
  /// Percent of the class that was recognised; NaN for a class without samples.
  double accuracy(size_t truth) const;
};

/// A header with the classes, then a line for each true class.
std::string to_csv(const ConfusionMatrix& matrix);

/// A PNG: the darker a cell, the larger its share of the row; the numbers too where there is room.
std::string draw(const ConfusionMatrix& matrix, const std::string& title);

}  // namespace batchplus
