#include "kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/rounding.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

struct Case {
  int64_t samples, channels, height, width;
};
const std::vector<Case> kCases = {
    {4, 16, 32, 32}, {3, 12, 9, 7}, {1, 1, 5, 5}, {2, 168, 8, 8}, {130, 45, 2, 2}};

/// With so many threads.
class BatchNormKernels : public ::testing::TestWithParam<int> {
  void SetUp() override { testing::machine_has("avx2", are_available()); }
  testing::WithThreads threads_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, BatchNormKernels, ::testing::Values(1, 2, 5));

/// BatchNorm, sum, max(0, .) in double precision, with gradients.
struct Reference {
  at::Tensor y, dx, dw, db, shortcut_gradient;
};

Reference in_double(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, const at::Tensor& shortcut,
                    bool is_relu, const at::Tensor& g) {
  constexpr auto type = at::kDouble;
  Reference r;
  const auto [normalized, mean, inverse] =
      at::native_batch_norm(x.to(type), w.to(type), b.to(type), {}, {}, true, 0.1, 1e-5);
  at::Tensor sum = shortcut.defined() ? normalized + shortcut.to(type) : normalized;
  r.y = is_relu ? sum.relu() : sum;
  r.shortcut_gradient = is_relu ? g.to(type) * (r.y > 0).to(type) : g.to(type);
  std::tie(r.dx, r.dw, r.db) = at::native_batch_norm_backward(
      r.shortcut_gradient, x.to(type), w.to(type), {}, {}, mean, inverse, true, 1e-5, {true, true, true});
  return r;
}

TEST_P(BatchNormKernels, MomentsAreAccurateFarFromZero) {
  for (const Case& c : kCases) {
    at::manual_seed(c.channels);
    // Far from zero: a difference of sums of squares would lose most digits.
    const at::Tensor x =
        (at::randn({c.samples, c.channels, c.height, c.width}) * 0.1 + 30).contiguous(kChannelsLast);
    const at::Tensor mean = at::empty({c.channels});
    const at::Tensor variance = at::empty({c.channels});
    channel_moments(maps_of(x), mean.data_ptr<float>(), variance.data_ptr<float>());
    const auto [exact_variance, exact_mean] = at::var_mean(x.to(at::kDouble), {0, 2, 3}, /*unbiased=*/false);
    // Half a unit in the last place of the mean itself. Squared deviations from the first pixel, which is up
    // to three or four deviations from the mean, are summed in pieces of 64 terms with a common sign,
    // sqrt(64/3) roundings, and then lose up to a tenth of their size.
    EXPECT_LE(relative_error(mean, exact_mean), 6e-8);
    EXPECT_LE(relative_error(variance, exact_variance), 10 * std::sqrt(64.0 / 3) * testing::kRounding);
  }
}

TEST_P(BatchNormKernels, PassesEqualDoublePrecisionForwardsAndBackwards) {
  for (const Case& c : kCases) {
    for (const bool has_shortcut : {false, true}) {
      for (const bool is_relu : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << c.samples << "x" << c.channels << "x" << c.height << "x" << c.width << ", shortcut "
                     << has_shortcut << ", relu " << is_relu);
        at::manual_seed(c.channels);
        const std::vector<int64_t> shape{c.samples, c.channels, c.height, c.width};
        const at::Tensor x = (at::randn(shape) * 2 + 1).contiguous(kChannelsLast);
        const at::Tensor shortcut = has_shortcut ? at::randn(shape).contiguous(kChannelsLast) : at::Tensor();
        const at::Tensor g = at::randn(shape).contiguous(kChannelsLast);
        const at::Tensor w = at::rand({c.channels}) + 0.5;
        const at::Tensor b = at::randn({c.channels});
        const auto [variance, mean] = at::var_mean(x, {0, 2, 3}, /*unbiased=*/false);
        const at::Tensor inverse = (variance + 1e-5).rsqrt();
        const at::Tensor scale = w * inverse;
        const at::Tensor shift = b - mean * scale;

        const at::Tensor y = at::full_like(x, NAN);
        const Maps addend = has_shortcut ? maps_of(shortcut) : Maps{};
        normalize(maps_of(x),
                  {.scale = scale.data_ptr<float>(),
                   .shift = shift.data_ptr<float>(),
                   .addend = addend,
                   .is_relu = is_relu},
                  maps_of(y));
        const at::Tensor dx = at::full_like(x, NAN);
        const at::Tensor dw = at::empty_like(w);
        const at::Tensor db = at::empty_like(w);
        const at::Tensor shortcut_gradient = at::full_like(x, NAN);
        BatchNormBackward pass{.x = maps_of(x),
                               .y_gradient = maps_of(g),
                               .mask = ReluMask::kNone,
                               .y = maps_of(y),
                               .scale = scale.data_ptr<float>(),
                               .shift = shift.data_ptr<float>(),
                               .mean = mean.data_ptr<float>(),
                               .inverse_std = inverse.data_ptr<float>(),
                               .x_gradient = maps_of(dx),
                               .weight_gradient = dw.data_ptr<float>(),
                               .bias_gradient = db.data_ptr<float>(),
                               .addend_gradient = has_shortcut ? maps_of(shortcut_gradient) : Maps{}};
        if (is_relu) pass.mask = has_shortcut ? ReluMask::kFromOutput : ReluMask::kFromInput;
        batch_norm_backward(pass);

        const Reference exact = in_double(x, w, b, shortcut, is_relu, g);
        // Mean, deviation, scale and shift are rounded before; then a handful of operations, and sums in
        // pieces of 64: 20 roundings.
        const auto expect = [](const char* what, const at::Tensor& own, const at::Tensor& e) {
          EXPECT_LE(relative_error(own, e), 20 * testing::kRounding * testing::spread_of(e.numel())) << what;
        };
        expect("y", y, exact.y);
        expect("dx", dx, exact.dx);
        expect("dw", dw, exact.dw);
        expect("db", db, exact.db);
        if (has_shortcut) expect("shortcut", shortcut_gradient, exact.shortcut_gradient);

        if (has_shortcut) continue;
        // Once more, added to what is there.
        pass.is_adding = true;
        batch_norm_backward(pass);
        expect("twice", dx, 2 * exact.dx);
      }
    }
  }
}

TEST_P(BatchNormKernels, SumChannels) {
  for (const Case& c : kCases) {
    const at::Tensor x = at::randn({c.samples, c.channels, c.height, c.width}).contiguous(kChannelsLast);
    const at::Tensor sums = at::empty({c.channels});
    channel_sums(maps_of(x), sums.data_ptr<float>());
    // In pieces of 64 that are added in double.
    EXPECT_LE(relative_error(sums, x.to(at::kDouble).sum({0, 2, 3})),
              testing::running_sum_rounding(64) * testing::spread_of(c.channels));
  }
}

TEST(BatchNormSums, HaveTheSameBitsForAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    const at::Tensor x = at::randn({c.samples, c.channels, c.height, c.width}).contiguous(kChannelsLast);
    const auto moments = [&] {
      const at::Tensor result = at::empty({3, c.channels});
      channel_moments(maps_of(x), data_of(result[0]), data_of(result[1]));
      channel_sums(maps_of(x), data_of(result[2]));
      return result;
    };
    const at::Tensor one = moments();
    for (const int threads : {2, 3, 4, 8, 16}) {
      const testing::WithThreads with(threads);
      EXPECT_TRUE(moments().equal(one)) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace batchplus::kernels
