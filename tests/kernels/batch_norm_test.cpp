#include "kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/maps_of_tensors.h"
#include "kernels/processor.h"

namespace batchplus {
namespace {

struct Case {
  int64_t samples, channels, height, width;
};
const std::vector<Case> kCases = {
    {4, 16, 32, 32}, {3, 12, 9, 7}, {1, 1, 5, 5}, {2, 168, 8, 8}, {130, 45, 2, 2}};

class BatchNormKernels : public testing::Test {
  void SetUp() override {
    if (!has_own_kernels()) GTEST_SKIP() << "the processor has no AVX2";
  }
};

/// BatchNorm, sum, max(0, .) by libtorch, with gradients.
struct Reference {
  at::Tensor y, dx, dw, db, shortcut_gradient;
};

Reference by_libtorch(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b,
                      const at::Tensor& shortcut, bool is_relu, const at::Tensor& g, at::ScalarType type) {
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

TEST_F(BatchNormKernels, MomentsAreAsAccurateAsLibtorchs) {
  for (const Case& c : kCases) {
    at::manual_seed(c.channels);
    // Far from zero: a difference of sums of squares would lose most digits.
    const at::Tensor x =
        (at::randn({c.samples, c.channels, c.height, c.width}) * 0.1 + 30).contiguous(kChannelsLast);
    const at::Tensor mean = at::empty({c.channels});
    const at::Tensor variance = at::empty({c.channels});
    channel_moments(maps_of(x), mean.data_ptr<float>(), variance.data_ptr<float>());
    const auto [exact_variance, exact_mean] = at::var_mean(x.to(at::kDouble), {0, 2, 3}, /*unbiased=*/false);
    const auto [aten_variance, aten_mean] = at::var_mean(x, {0, 2, 3}, /*unbiased=*/false);
    EXPECT_LE(relative_error(mean, exact_mean), std::max(6e-8, relative_error(aten_mean, exact_mean)));
    EXPECT_LE(relative_error(variance, exact_variance),
              std::max(1e-6, relative_error(aten_variance, exact_variance)));
  }
}

TEST_F(BatchNormKernels, PassesEqualLibtorchsForwardsAndBackwards) {
  for (const Case& c : kCases) {
    for (const bool has_shortcut : {false, true}) {
      for (const bool is_relu : {false, true}) {
        SCOPED_TRACE(testing::Message() << c.samples << "x" << c.channels << "x" << c.height << "x" << c.width
                                        << ", shortcut " << has_shortcut << ", relu " << is_relu);
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

        const Reference exact = by_libtorch(x, w, b, shortcut, is_relu, g, at::kDouble);
        const Reference aten = by_libtorch(x, w, b, shortcut, is_relu, g, at::kFloat);
        const auto expect = [&](const char* what, const at::Tensor& own, const at::Tensor& other,
                                const at::Tensor& e) {
          EXPECT_LE(relative_error(own, e), std::max(5e-7, relative_error(other, e))) << what;
        };
        expect("y", y, aten.y, exact.y);
        expect("dx", dx, aten.dx, exact.dx);
        expect("dw", dw, aten.dw, exact.dw);
        expect("db", db, aten.db, exact.db);
        if (has_shortcut)
          expect("shortcut", shortcut_gradient, aten.shortcut_gradient, exact.shortcut_gradient);

        if (has_shortcut) continue;
        // Once more, added to what is there.
        pass.is_adding = true;
        batch_norm_backward(pass);
        expect("twice", dx, 2 * aten.dx, 2 * exact.dx);
      }
    }
  }
}

TEST_F(BatchNormKernels, SumChannels) {
  for (const Case& c : kCases) {
    const at::Tensor x = at::randn({c.samples, c.channels, c.height, c.width}).contiguous(kChannelsLast);
    const at::Tensor sums = at::empty({c.channels});
    channel_sums(maps_of(x), sums.data_ptr<float>());
    EXPECT_LT(relative_error(sums, x.to(at::kDouble).sum({0, 2, 3})), 1e-6);
  }
}

}  // namespace
}  // namespace batchplus
