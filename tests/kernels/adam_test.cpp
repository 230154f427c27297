#include "kernels/adam.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

#include "support/threads.h"

namespace batchplus::kernels {
namespace {

// Odd, smaller than a vector register, and larger than a thread's share.
const std::vector<int64_t> kSizes = {1, 7, 1023, 100003};

struct Vectors {
  explicit Vectors(int64_t size)
      : w(torch::randn({size})),
        moments{torch::randn({size}), torch::rand({size})},
        gradient(torch::randn({size})),
        control(torch::randn({size})),
        mean(torch::randn({size})) {}
  Vectors copy() const {
    Vectors other = *this;
    other.w = w.clone();
    other.moments = {moments.first.clone(), moments.second.clone()};
    return other;
  }
  EstimateTerms estimate(bool has_control) const {
    if (!has_control) return {.gradient = &gradient};
    return {.gradient = &gradient, .control = &control, .mean = &mean, .coefficient = -0.7};
  }
  torch::Tensor w;
  Moments moments;
  torch::Tensor gradient, control, mean;
};

AdamConstants constants(bool is_decoupled, int64_t step) {
  return {.learning_rate = 0.3, .weight_decay = 0.01, .is_decoupled = is_decoupled, .step = step};
}

template <class Check>
void for_each_case(const Check& check) {
  for (const int64_t size : kSizes) {
    for (const bool is_decoupled : {false, true}) {
      for (const bool has_control : {false, true}) {
        for (const int64_t step : {1, 2, 1000, 123456789}) {
          Vectors x(size);
          check(x, x.estimate(has_control), constants(is_decoupled, step));
        }
      }
    }
  }
}

TEST(AdamUpdate, EqualsTheEquationsInDouble) {
  for_each_case([](const Vectors& x, const EstimateTerms& estimate, const AdamConstants& c) {
    const Vectors before = x.copy();
    ASSERT_TRUE(adam_update(x.w, x.moments, estimate, c));
    const auto exact = [](const torch::Tensor& t) { return t.to(torch::kFloat64); };
    torch::Tensor v = exact(x.gradient);
    // What is added up to v: it may cancel, and its roundings then are larger than v.
    torch::Tensor terms = v.abs() + 0.01 * exact(before.w).abs();
    if (estimate.control != nullptr) {
      v = v - 0.7 * (exact(x.control) - exact(x.mean));
      terms = terms + 0.7 * (exact(x.control).abs() + exact(x.mean).abs());
    }
    torch::Tensor w = exact(before.w);
    if (c.is_decoupled) {
      w = w * (1 - 0.3 * 0.01);
    } else {
      v = v + 0.01 * w;
    }
    const torch::Tensor m = 0.9 * exact(before.moments.first) + 0.1 * v;
    const torch::Tensor s = 0.999 * exact(before.moments.second) + 0.001 * v.square();
    const auto t = static_cast<double>(c.step);
    const torch::Tensor length =
        0.3 / (1 - std::pow(0.9, t)) / ((s / (1 - std::pow(0.999, t))).sqrt() + 1e-8);
    // A dozen roundings (2^-24 each) of values up to 10, and of what makes the step: of the terms of m and of
    // v, not of these, which may cancel. v also enters s, most of which it may be.
    const double roundings = 12 * 0x1p-24;
    const torch::Tensor of_m = length * (0.9 * exact(before.moments.first).abs() + 0.1 * terms);
    const torch::Tensor of_s = (length * m).abs() * 0.001 * v.abs() * terms / s;
    const torch::Tensor error = (exact(x.w) - (w - length * m)).abs();
    EXPECT_TRUE((error < roundings * (10 + of_m + of_s)).all().item<bool>());
    EXPECT_TRUE(((exact(x.moments.first) - m).abs() < roundings * 10).all().item<bool>());
    EXPECT_TRUE(((exact(x.moments.second) - s).abs() < roundings * 10).all().item<bool>());
  });
}

TEST(AdamUpdate, EqualsTheAtenFallbackToTheBit) {
  for_each_case([](const Vectors& x, const EstimateTerms& estimate, const AdamConstants& c) {
    const Vectors other = x.copy();
    ASSERT_TRUE(adam_update(x.w, x.moments, estimate, c));
    ASSERT_TRUE(adam_update_aten(other.w, other.moments, estimate, c));
    EXPECT_TRUE(x.w.equal(other.w));
    EXPECT_TRUE(x.moments.first.equal(other.moments.first));
    EXPECT_TRUE(x.moments.second.equal(other.moments.second));
  });
}

TEST(AdamUpdate, DoesNotDependOnTheNumberOfThreads) {
  Vectors x(100003);
  const Vectors other = x.copy();
  {
    const testing::WithThreads one(1);
    ASSERT_TRUE(adam_update(x.w, x.moments, x.estimate(true), constants(true, 3)));
  }
  const testing::WithThreads three(3);
  ASSERT_TRUE(adam_update(other.w, other.moments, x.estimate(true), constants(true, 3)));
  EXPECT_TRUE(x.w.equal(other.w));
}

TEST(AdamUpdate, NoticesOneValueThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t position : {0, 1, 99999, 100002}) {
      Vectors x(100003);
      x.gradient[position] = bad;
      EXPECT_FALSE(adam_update(x.w, x.moments, x.estimate(false), constants(false, 1)));
    }
  }
}

}  // namespace
}  // namespace batchplus::kernels
