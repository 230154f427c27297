#include "kernels/vector_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

namespace batchplus::kernels {
namespace {

// Odd, smaller than a vector register, and larger than a thread's share.
const std::vector<int64_t> kSizes = {1, 7, 1023, 100003};
const std::vector<UpdateKind> kKinds = {UpdateKind::kPlain, UpdateKind::kHeavyBall, UpdateKind::kNesterov};

struct Vectors {
  explicit Vectors(int64_t size)
      : w(torch::randn({size})),
        m(torch::randn({size})),
        gradient(torch::randn({size})),
        control(torch::randn({size})),
        mean(torch::randn({size})) {}
  EstimateTerms estimate(bool has_control) const {
    if (!has_control) return {.gradient = &gradient};
    return {.gradient = &gradient, .control = &control, .mean = &mean, .coefficient = -0.7};
  }
  torch::Tensor w, m, gradient, control, mean;
};

UpdateConstants constants(UpdateKind kind) {
  return {.kind = kind, .learning_rate = 0.3, .momentum = 0.9, .weight_decay = 0.01};
}

TEST(FusedUpdate, EqualsTheEquationsInDoubleForEveryRule) {
  for (const int64_t size : kSizes) {
    for (const UpdateKind kind : kKinds) {
      for (const bool has_control : {false, true}) {
        Vectors x(size);
        const Vectors before = [&] {
          Vectors copy(1);
          copy = x;
          copy.w = x.w.clone();
          copy.m = x.m.clone();
          return copy;
        }();
        ASSERT_TRUE(fused_update(x.w, x.m, x.estimate(has_control), constants(kind)));
        double worst = 0;
        for (int64_t i = 0; i < size; i += std::max<int64_t>(1, size / 500)) {
          const auto at = [i](const torch::Tensor& t) { return static_cast<double>(t.data_ptr<float>()[i]); };
          double v = at(x.gradient) + (has_control ? -0.7 * (at(x.control) - at(x.mean)) : 0.0);
          v += 0.01 * at(before.w);
          const double m = 0.9 * at(before.m) + v;
          double step = v;
          if (kind == UpdateKind::kHeavyBall) step = m;
          if (kind == UpdateKind::kNesterov) step = v + 0.9 * m;
          worst = std::max(worst, std::abs(at(x.w) - (at(before.w) - 0.3 * step)));
          if (kind != UpdateKind::kPlain) worst = std::max(worst, std::abs(at(x.m) - m));
        }
        // Values of order 10 and at most eight roundings of half a unit in the last place (2^-24 relative).
        EXPECT_LT(worst, 10 * 8 * 0x1p-24);
      }
    }
  }
}

TEST(FusedUpdate, EqualsTheAtenFallbackToTheBit) {
  for (const int64_t size : kSizes) {
    for (const UpdateKind kind : kKinds) {
      for (const bool has_control : {false, true}) {
        Vectors x(size);
        const torch::Tensor w = x.w.clone();
        const torch::Tensor m = x.m.clone();
        ASSERT_TRUE(fused_update(x.w, x.m, x.estimate(has_control), constants(kind)));
        ASSERT_TRUE(fused_update_aten(w, m, x.estimate(has_control), constants(kind)));
        EXPECT_TRUE(x.w.equal(w)) << size;
        EXPECT_TRUE(x.m.equal(m)) << size;
      }
    }
  }
}

TEST(FusedUpdate, DoesNotDependOnTheNumberOfThreads) {
  Vectors x(100003);
  const torch::Tensor w = x.w.clone();
  const torch::Tensor m = x.m.clone();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  ASSERT_TRUE(fused_update(w, m, x.estimate(true), constants(UpdateKind::kNesterov)));
  const double norm = squared_norm(w);
  at::set_num_threads(2);
  ASSERT_TRUE(fused_update(x.w, x.m, x.estimate(true), constants(UpdateKind::kNesterov)));
  EXPECT_TRUE(x.w.equal(w));
  EXPECT_EQ(squared_norm(x.w), norm);
  at::set_num_threads(threads);
}

TEST(FusedUpdate, NoticesOneValueThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t position : {0, 1, 99999, 100002}) {
      Vectors x(100003);
      x.gradient[position] = bad;
      EXPECT_FALSE(fused_update(x.w, x.m, x.estimate(false), constants(UpdateKind::kPlain)));
    }
  }
  Vectors overflowing(5);
  overflowing.gradient.fill_(std::numeric_limits<float>::max());
  const UpdateConstants large{.kind = UpdateKind::kPlain, .learning_rate = 2};
  EXPECT_FALSE(fused_update(overflowing.w, overflowing.m, overflowing.estimate(false), large));
}

TEST(FusedUpdate, AcceptsTheLargestFiniteValue) {
  Vectors x(3);
  x.w.fill_(std::numeric_limits<float>::max());
  x.gradient.fill_(0);
  EXPECT_TRUE(fused_update(x.w, x.m, x.estimate(false), {.kind = UpdateKind::kPlain, .learning_rate = 1}));
}

TEST(WeightedSum, HasTheBitsOfAccumulatingInDouble) {
  for (const int64_t size : kSizes) {
    std::vector<torch::Tensor> vectors;
    std::vector<double> weights;
    const torch::Tensor sum = torch::zeros({size}, torch::kFloat64);
    for (int k = 0; k < 5; ++k) {
      vectors.push_back(torch::randn({size}));
      weights.push_back(1.0 / (k + 3));
      accumulate(sum, weights.back(), vectors.back());
    }
    const torch::Tensor mean = torch::empty({size});
    weighted_sum(vectors, weights, mean);
    EXPECT_TRUE(mean.equal(sum.to(torch::kFloat32))) << size;
  }
}

TEST(Accumulate, ErrorDoesNotGrowWithTheNumberOfTerms) {
  // Float accumulation of a million times 0.1 is off by 1 % (100958); in double it rounds correctly to 1e5.
  const torch::Tensor sum = torch::zeros({3}, torch::kFloat64);
  const torch::Tensor tenth = torch::full({3}, 0.1);
  for (int i = 0; i < 1000000; ++i) accumulate(sum, 1.0, tenth);
  EXPECT_EQ(sum.to(torch::kFloat32)[1].item<float>(), static_cast<float>(1e6 * static_cast<double>(0.1F)));
}

TEST(SquaredNorm, EqualsTheSumInDouble) {
  for (const int64_t size : kSizes) {
    const torch::Tensor vector = torch::randn({size});
    const double expected = vector.to(torch::kFloat64).square().sum().item<double>();
    EXPECT_NEAR(squared_norm(vector), expected, 1e-12 * expected);  // two orders of summing in double
  }
}

TEST(Displace, AddsAMultiple) {
  const torch::Tensor w = torch::randn({1023});
  const torch::Tensor direction = torch::randn({1023});
  const torch::Tensor out = torch::empty({1023});
  displace(w, 0.25, direction, out);
  EXPECT_TRUE(out.equal(w + 0.25 * direction));  // 0.25 x is exact
}

}  // namespace
}  // namespace batchplus::kernels
