#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace batchplus {

/// A mean over seeds and how far it can be trusted.
struct Summary {
  size_t n = 0;
  double mean = 0;
  /// Of the sample, with n - 1; nothing for a single value.
  std::optional<double> std = {};
  /// Half the width of the 95 % confidence interval of the mean (Student's t); nothing for a single value.
  std::optional<double> half_width = {};
};

Summary summarize(const std::vector<double>& values);

/// Differences of two methods over the seeds that both have, and Student's t test that their mean is zero.
struct PairedTest {
  Summary difference = {};
  /// Two-sided; 1 when all differences are zero. Nothing for less than two pairs, and when all differ by the
  /// same, which leaves a t test nothing to go by.
  std::optional<double> p = {};
};

/// a[i] and b[i] have the same seed.
PairedTest compare_paired(const std::vector<double>& a, const std::vector<double>& b);

/// Holm's correction for testing several hypotheses at once: at a level, all corrected values below it may be
/// rejected, with at most that probability of a single false rejection.
std::vector<double> correct_holm(const std::vector<double>& p);

/// Kendall's rank correlation tau-b and the two-sided p value that there is none.
struct RankCorrelation {
  size_t n = 0;
  /// Nothing for less than two different values of x or of y.
  std::optional<double> tau = {};
  /// Exact without ties and for up to 100 points, else by the normal approximation.
  std::optional<double> p = {};
};

RankCorrelation kendall(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace batchplus
