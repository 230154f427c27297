#include <gtest/gtest.h>

#include "kernels/batch_norm.h"
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

/// An affine map by channels with a sum and max(0, .) behind it, and a gradient to send through it.
struct Problem {
  explicit Problem(const Case& c) {
    at::manual_seed(c.channels);
    const std::vector<int64_t> shape{c.samples, c.channels, c.height, c.width};
    const auto make = [&] { return at::randn(shape).contiguous(kChannelsLast); };
    x = make();
    shortcut = make();
    g = make();
    mean = at::randn({c.channels});
    inverse = at::rand({c.channels}) + 0.5;
    scale = (at::rand({c.channels}) + 0.5) * inverse;
    shift = at::randn({c.channels}) - mean * scale;
    dx = at::full_like(x, NAN);
    shortcut_gradient = at::full_like(x, NAN);
    weights = at::full({c.samples, c.channels}, NAN);
    biases = at::full_like(weights, NAN);
  }

  void run(bool has_shortcut, bool is_relu, bool is_adding) {
    const at::Tensor y = at::empty_like(x);
    const Maps addend = has_shortcut ? maps_of(shortcut) : Maps{};
    normalize(maps_of(x), {data_of(scale), data_of(shift), addend, is_relu}, maps_of(y));
    FixedBatchNormBackward pass{.x = maps_of(x),
                                .y_gradient = maps_of(g),
                                .mask = ReluMask::kNone,
                                .y = maps_of(y),
                                .scale = data_of(scale),
                                .shift = data_of(shift),
                                .mean = data_of(mean),
                                .inverse_std = data_of(inverse),
                                .x_gradient = maps_of(dx),
                                .is_adding = is_adding,
                                .addend_gradient = has_shortcut ? maps_of(shortcut_gradient) : Maps{},
                                .sample_weights = data_of(weights),
                                .sample_biases = data_of(biases)};
    if (is_relu) pass.mask = has_shortcut ? ReluMask::kFromOutput : ReluMask::kFromInput;
    fixed_batch_norm_backward(pass);
  }

  at::Tensor x, shortcut, g, mean, inverse, scale, shift;
  at::Tensor dx, shortcut_gradient, weights, biases;
};

TEST(FixedBatchNorm, BackwardEqualsItsDefinitionInDouble) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    for (const bool has_shortcut : {false, true}) {
      for (const bool is_relu : {false, true}) {
        SCOPED_TRACE(::testing::Message() << c.samples << "x" << c.channels << "x" << c.height
                                          << ", shortcut " << has_shortcut << ", relu " << is_relu);
        Problem p(c);
        p.run(has_shortcut, is_relu, /*is_adding=*/false);
        const auto by_channel = [](const at::Tensor& t) { return t.to(at::kDouble).view({1, -1, 1, 1}); };
        const at::Tensor x = p.x.to(at::kDouble);
        at::Tensor sum = x * by_channel(p.scale) + by_channel(p.shift);
        if (has_shortcut) sum = sum + p.shortcut.to(at::kDouble);
        const at::Tensor passed = is_relu ? p.g * (sum > 0) : p.g.to(at::kDouble);
        // A handful of operations, and sums in pieces of 64: 20 roundings.
        const auto expect = [](const char* what, const at::Tensor& own, const at::Tensor& e) {
          EXPECT_LE(relative_error(own, e), 20 * testing::kRounding * testing::spread_of(e.numel())) << what;
        };
        const at::Tensor dx = passed * by_channel(p.scale);
        expect("dx", p.dx, dx);
        expect("biases", p.biases, passed.sum({2, 3}));
        expect("weights", p.weights, (passed * (x - by_channel(p.mean)) * by_channel(p.inverse)).sum({2, 3}));
        if (has_shortcut) expect("shortcut", p.shortcut_gradient, passed);
        p.run(has_shortcut, is_relu, /*is_adding=*/true);
        expect("twice", p.dx, 2 * dx);
      }
    }
  }
}

TEST(FixedBatchNorm, BackwardHasTheSameBitsForAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    const auto results = [&](int threads) {
      const testing::WithThreads with(threads);
      Problem p(c);
      p.run(/*has_shortcut=*/true, /*is_relu=*/true, /*is_adding=*/false);
      return at::cat(
          {p.dx.flatten(), p.shortcut_gradient.flatten(), p.weights.flatten(), p.biases.flatten()});
    };
    const at::Tensor one = results(1);
    for (const int threads : {2, 3, 5}) EXPECT_TRUE(results(threads).equal(one)) << threads << " threads";
  }
}

}  // namespace
}  // namespace batchplus::kernels
