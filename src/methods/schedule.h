#pragma once

#include <string>
#include <vector>

namespace batchplus {

/// The learning rate's factor as a function of progress, the fraction of the training that is done.
///   constant                 1
///   step:0.4,0.6,0.8/10      divided by 10 at each of these fractions
///   cosine                   (1 + cos(pi p)) / 2
///   warmup:0.05+SCHEDULE     SCHEDULE times a factor that rises linearly from 0 to 1 over the first fraction
class Schedule {
 public:
  /// An Error names `where` when the text is not a schedule.
  static Schedule parse(const std::string& text, const std::string& where);

  /// `progress` in [0, 1].
  double factor(double progress) const;
  /// Whether it is anything but constant.
  bool depends_on_progress() const { return shape_ != Shape::kConstant || warmup_fraction_ > 0; }

 private:
  enum class Shape { kConstant, kStep, kCosine };
  Shape shape_ = Shape::kConstant;
  std::vector<double> step_fractions_;
  double step_divisor_ = 1;
  double warmup_fraction_ = 0;
};

/// The control variate's coefficient c as a function of progress: "C", or "linear:C" for C (1 - p).
class CoefficientSchedule {
 public:
  CoefficientSchedule() = default;
  static CoefficientSchedule parse(const std::string& text, const std::string& where);
  double value(double progress) const {
    return is_decaying_ ? initial_ * (1 - progress) + 0.0 : initial_;  // no -0 at its end
  }
  bool depends_on_progress() const { return is_decaying_; }

 private:
  double initial_ = 0;
  bool is_decaying_ = false;
};

}  // namespace batchplus
