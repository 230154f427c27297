#include "methods/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr const char* kScheduleHint =
    "constant, step:0.4,0.6,0.8/10, cosine, or one of them with warmup:0.05+ before it";

[[noreturn]] void reject(const std::string& text, const std::string& where) {
  throw Error("not a learning-rate schedule", {where, text, kScheduleHint});
}

bool is_fraction(double number) {
  return number > 0 && number < 1;
}

}  // namespace

Schedule Schedule::parse(const std::string& text, const std::string& where) {
  Schedule schedule;
  std::string shape = text;
  if (shape.starts_with("warmup:")) {
    const size_t plus = shape.find('+');
    if (plus == std::string::npos) reject(text, where);
    schedule.warmup_fraction_ = parse_number(shape.substr(7, plus - 7), where);
    if (!is_fraction(schedule.warmup_fraction_)) reject(text, where);
    shape = shape.substr(plus + 1);
  }
  if (shape == "constant") {
    schedule.shape_ = Shape::kConstant;
  } else if (shape == "cosine") {
    schedule.shape_ = Shape::kCosine;
  } else if (shape.starts_with("step:")) {
    schedule.shape_ = Shape::kStep;
    const auto parts = split(shape.substr(5), '/');
    if (parts.size() != 2) reject(text, where);
    for (const auto& fraction : split(parts[0], ',')) {
      schedule.step_fractions_.push_back(parse_number(fraction, where));
    }
    schedule.step_divisor_ = parse_number(parts[1], where);
    const auto& fractions = schedule.step_fractions_;
    if (!std::all_of(fractions.begin(), fractions.end(), is_fraction) ||
        !std::is_sorted(fractions.begin(), fractions.end()) || !(schedule.step_divisor_ > 0) ||
        !std::isfinite(schedule.step_divisor_)) {
      reject(text, where);
    }
  } else {
    reject(text, where);
  }
  return schedule;
}

double Schedule::factor(double progress) const {
  double factor = 1;
  if (shape_ == Shape::kCosine) factor = (1 + std::cos(std::numbers::pi * progress)) / 2;
  for (const double fraction : step_fractions_) {
    if (progress >= fraction) factor /= step_divisor_;
  }
  if (progress < warmup_fraction_) factor *= progress / warmup_fraction_;
  return factor;
}

CoefficientSchedule CoefficientSchedule::parse(const std::string& text, const std::string& where) {
  CoefficientSchedule schedule;
  schedule.is_decaying_ = text.starts_with("linear:");
  const auto reject_coefficient = [&] {
    throw Error("not a coefficient",
                {where, text, "a finite number like -1, or linear:-0.5 to decay it to 0"});
  };
  const std::string number = schedule.is_decaying_ ? text.substr(7) : text;
  if (number.empty()) reject_coefficient();
  schedule.initial_ = parse_number(number, where);
  if (!std::isfinite(schedule.initial_)) reject_coefficient();
  return schedule;
}

}  // namespace batchplus
