#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace batchplus {

/// A mean over random draws.
struct Estimate {
  double value = 0;
  /// Of the value; NaN when a single draw cannot tell.
  double standard_error = 0;
  int64_t draws = 0;
};

/// Collects draws one by one (Welford 1962).
class MeanOfDraws {
 public:
  void add(double draw) {
    ++draws_;
    const double difference = draw - mean_;
    mean_ += difference / static_cast<double>(draws_);
    squares_ += difference * (draw - mean_);
  }

  Estimate estimate() const { return {mean_, std::sqrt(variance_of_mean()), draws_}; }

  /// The same for draws without replacement from `population` items: nothing is left open when all were
  /// drawn.
  Estimate estimate_out_of(int64_t population) const {
    if (draws_ == population) return {mean_, 0, draws_};
    const double left_out = 1 - static_cast<double>(draws_) / static_cast<double>(population);
    return {mean_, std::sqrt(variance_of_mean() * left_out), draws_};
  }

 private:
  double variance_of_mean() const {
    if (draws_ < 2) return std::numeric_limits<double>::quiet_NaN();
    return squares_ / static_cast<double>(draws_ - 1) / static_cast<double>(draws_);
  }

  int64_t draws_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace batchplus
