#include "report/statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "util/error.h"

namespace batchplus {
namespace {

constexpr double kConfidence = 0.95;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sums over the groups of equal values, of size t each, that Kendall's variance needs.
struct Ties {
  /// t (t - 1) / 2
  double pairs = 0;
  /// t (t - 1) (t - 2)
  double triples = 0;
  /// t (t - 1) (2 t + 5)
  double weighted = 0;
};

Ties count_ties(const std::vector<double>& values) {
  std::map<double, double> groups;
  for (const double value : values) ++groups[value];
  Ties ties;
  for (const auto& [value, t] : groups) {
    ties.pairs += t * (t - 1) / 2;
    ties.triples += t * (t - 1) * (t - 2);
    ties.weighted += t * (t - 1) * (2 * t + 5);
  }
  return ties;
}

/// The probability of at most `inversions` of them in a random order of n things.
double inversions_at_most(size_t n, size_t inversions) {
  // shares[k]: probability of k inversions among the things placed so far; another one adds 0 to i - 1.
  std::vector<double> shares(n * (n - 1) / 2 + 1, 0.0);
  shares[0] = 1;
  for (size_t i = 2; i <= n; ++i) {
    std::vector<double> next(shares.size(), 0.0);
    double window = 0;
    for (size_t k = 0; k < shares.size(); ++k) {
      window += shares[k];
      if (k >= i) window -= shares[k - i];
      next[k] = window / static_cast<double>(i);
    }
    shares = std::move(next);
  }
  return std::accumulate(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(inversions) + 1, 0.0);
}

}  // namespace

Summary summarize(const std::vector<double>& values) {
  Summary summary{.n = values.size(), .mean = values.empty() ? 0 : mean_of(values)};
  if (values.size() < 2) return summary;
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.std = std::sqrt(squares / (n - 1));
  const boost::math::students_t distribution(n - 1);
  summary.half_width =
      boost::math::quantile(distribution, (1 + kConfidence) / 2) * *summary.std / std::sqrt(n);
  return summary;
}

PairedTest compare_paired(const std::vector<double>& a, const std::vector<double>& b) {
  BATCHPLUS_CHECK(a.size() == b.size(), "pairs have two sides");
  std::vector<double> differences(a.size());
  std::transform(a.begin(), a.end(), b.begin(), differences.begin(), std::minus<>());
  PairedTest test{summarize(differences), std::nullopt};
  if (test.difference.n < 2) return test;
  // Equal differences of rounded values differ by rounding: 93.41 - 93.40 is not 92.51 - 92.50.
  constexpr double kRounding = 1e-14;
  double largest = 0;
  for (const auto* values : {&a, &b}) {
    for (const double value : *values) largest = std::max(largest, std::abs(value));
  }
  if (*test.difference.std <= kRounding * largest) {
    test.difference.std = test.difference.half_width = 0;
    if (std::abs(test.difference.mean) <= kRounding * largest) test.p = 1;
    return test;
  }
  const auto n = static_cast<double>(test.difference.n);
  const double t = std::abs(test.difference.mean) / (*test.difference.std / std::sqrt(n));
  const boost::math::students_t distribution(n - 1);
  test.p = 2 * boost::math::cdf(boost::math::complement(distribution, t));
  return test;
}

std::vector<double> correct_holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

RankCorrelation kendall(const std::vector<double>& x, const std::vector<double>& y) {
  BATCHPLUS_CHECK(x.size() == y.size(), "points have two coordinates");
  RankCorrelation result{.n = x.size(), .tau = std::nullopt, .p = std::nullopt};
  const auto n = static_cast<double>(x.size());
  double concordant = 0;
  double discordant = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double product = (x[i] - x[j]) * (y[i] - y[j]);
      if (product > 0) ++concordant;
      if (product < 0) ++discordant;
    }
  }
  const Ties ties_x = count_ties(x);
  const Ties ties_y = count_ties(y);
  const double pairs = n * (n - 1) / 2;
  const double scale = std::sqrt((pairs - ties_x.pairs) * (pairs - ties_y.pairs));
  if (!(scale > 0)) return result;
  result.tau = (concordant - discordant) / scale;

  constexpr size_t kMostExact = 100;
  if (ties_x.pairs == 0 && ties_y.pairs == 0 && x.size() <= kMostExact) {
    const auto fewer = static_cast<size_t>(std::min(concordant, discordant));
    result.p = std::min(1.0, 2 * inversions_at_most(x.size(), fewer));
    return result;
  }
  // Kendall, Rank Correlation Methods: the variance of concordant - discordant with ties.
  const double variance = (n * (n - 1) * (2 * n + 5) - ties_x.weighted - ties_y.weighted) / 18 +
                          2 * ties_x.pairs * ties_y.pairs / (n * (n - 1)) +
                          (n > 2 ? ties_x.triples * ties_y.triples / (9 * n * (n - 1) * (n - 2)) : 0);
  const double z = std::abs(concordant - discordant) / std::sqrt(variance);
  result.p = 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
  return result;
}

}  // namespace batchplus
