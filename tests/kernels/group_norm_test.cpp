#include "kernels/group_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

struct Case {
  int64_t samples, channels, groups, height, width;
};
const std::vector<Case> kCases = {
    {4, 16, 4, 32, 32}, {3, 12, 3, 9, 7}, {1, 1, 1, 5, 5}, {9, 45, 9, 2, 3}, {2, 64, 16, 8, 8}};

struct Results {
  at::Tensor y, dx, dw, db;
};

struct Problem {
  explicit Problem(const Case& c) : groups(c.groups) {
    at::manual_seed(c.channels);
    x = (at::randn({c.samples, c.channels, c.height, c.width}) + 2).contiguous(kChannelsLast);
    g = at::randn_like(x);
    weight = at::randn({c.channels});
    bias = at::randn({c.channels});
  }

  Results in_double() const {
    constexpr auto type = at::kDouble;
    const int64_t pixels = x.size(2) * x.size(3);
    const auto [y, mean, inverse] =
        at::native_group_norm(x.to(type).contiguous(), weight.to(type), bias.to(type), x.size(0), x.size(1),
                              pixels, groups, kEpsilon);
    Results r;
    r.y = y;
    std::tie(r.dx, r.dw, r.db) = at::native_group_norm_backward(
        g.to(type).contiguous(), x.to(type).contiguous(), mean, inverse, weight.to(type), x.size(0),
        x.size(1), pixels, groups, {true, true, true});
    return r;
  }

  Results by_kernels() const {
    Results r{at::full_like(x, NAN), at::full_like(x, NAN), at::full_like(weight, NAN),
              at::full_like(bias, NAN)};
    const at::Tensor mean = at::empty({x.size(0), groups});
    const at::Tensor inverse = at::empty_like(mean);
    group_norm_forward(maps_of(x), {groups, kEpsilon, data_of(weight), data_of(bias)}, maps_of(r.y),
                       data_of(mean), data_of(inverse));
    group_norm_backward({.x = maps_of(x),
                         .y_gradient = maps_of(g),
                         .groups = groups,
                         .weight = data_of(weight),
                         .mean = data_of(mean),
                         .inverse_std = data_of(inverse),
                         .x_gradient = maps_of(r.dx),
                         .weight_gradient = data_of(r.dw),
                         .bias_gradient = data_of(r.db)});
    return r;
  }

  static constexpr double kEpsilon = 1e-5;
  int64_t groups;
  at::Tensor x, g, weight, bias;
};

TEST(GroupNormKernels, RoundAFewTimes) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::Message() << c.channels << " channels in " << c.groups << " groups");
    const Problem problem(c);
    const Results own = problem.by_kernels();
    const Results exact = problem.in_double();
    // A mean and an inverse deviation rounded to float, two fused operations, and a mean of 2 that is
    // subtracted: some units in the last place, a few times as large where terms cancel.
    constexpr double kTolerance = 1e-6;
    EXPECT_LE(relative_error(own.y, exact.y), kTolerance);
    EXPECT_LE(relative_error(own.dw, exact.dw), kTolerance);
    EXPECT_LE(relative_error(own.db, exact.db), kTolerance);
    EXPECT_LE(relative_error(own.dx, exact.dx), kTolerance);
  }
}

TEST(GroupNormKernels, HaveTheSameBitsForAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    const Problem problem(c);
    const Results one = problem.by_kernels();
    for (const int threads : {2, 3, 8}) {
      const testing::WithThreads with(threads);
      const Results more = problem.by_kernels();
      EXPECT_TRUE(more.y.equal(one.y) && more.dx.equal(one.dx) && more.dw.equal(one.dw) &&
                  more.db.equal(one.db))
          << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace batchplus::kernels
