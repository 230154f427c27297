#include "kernels/dual_batch_norm.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

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
const std::vector<Case> kCases = {{4, 16, 32, 32}, {3, 12, 9, 7}, {1, 1, 5, 5}, {2, 168, 8, 8}};

struct Dual {
  at::Tensor value, tangent;
  DualMaps maps() const { return {maps_of(value), maps_of(tangent)}; }
  ConstDualMaps const_maps() const { return {maps_of(value), maps_of(tangent)}; }
};

/// An affine map by channels that moves, with a sum and max(0, .) behind it.
struct Problem {
  explicit Problem(const Case& c) : shape{c.samples, c.channels, c.height, c.width} {
    at::manual_seed(c.channels);
    for (Dual* each : {&x, &shortcut, &g}) *each = {random_maps(), random_maps()};
    for (Dual* each : {&y, &dx, &shortcut_gradient})
      *each = {at::full_like(x.value, NAN), at::full_like(x.value, NAN)};
    weight = at::rand({c.channels}) + 0.5;
    bias = at::randn({c.channels});
    weight_tangent = at::randn({c.channels});
    bias_tangent = at::randn({c.channels});
    mean = at::randn({c.channels});
    inverse = at::rand({c.channels}) + 0.5;
    weights = at::full({c.samples, c.channels}, NAN);
    biases = at::full_like(weights, NAN);
  }
  at::Tensor random_maps() const { return at::randn(shape).contiguous(kChannelsLast); }

  void run(bool has_shortcut, bool is_relu) {
    const at::Tensor scale = weight * inverse;
    const at::Tensor shift = bias - mean * scale;
    const at::Tensor scale_tangent = weight_tangent * inverse;
    const at::Tensor shift_tangent = bias_tangent - mean * scale_tangent;
    DualScaleShift by{.scale = data_of(scale),
                      .shift = data_of(shift),
                      .scale_tangent = data_of(scale_tangent),
                      .shift_tangent = data_of(shift_tangent),
                      .addend = {},
                      .is_relu = is_relu};
    if (has_shortcut) by.addend = shortcut.const_maps();
    normalize_dual(x.const_maps(), by, y.maps());
    DualBatchNormBackward pass{.x = x.const_maps(),
                               .y_gradient = g.const_maps(),
                               .mask = ReluMask::kNone,
                               .y = maps_of(y.value),
                               .scale = data_of(scale),
                               .shift = data_of(shift),
                               .scale_tangent = data_of(scale_tangent),
                               .mean = data_of(mean),
                               .inverse_std = data_of(inverse),
                               .x_gradient = dx.maps(),
                               .addend_gradient = {},
                               .sample_weights = data_of(weights),
                               .sample_biases = data_of(biases)};
    if (is_relu) pass.mask = has_shortcut ? ReluMask::kFromOutput : ReluMask::kFromInput;
    if (has_shortcut) pass.addend_gradient = shortcut_gradient.maps();
    dual_batch_norm_backward(pass);
  }

  std::vector<int64_t> shape;
  Dual x, shortcut, g, y, dx, shortcut_gradient;
  at::Tensor weight, bias, weight_tangent, bias_tangent, mean, inverse, weights, biases;
};

/// The definition in double, differentiated by autograd: value, tangent, and the gradients of
/// <g, y> + <g', y'>.
struct Exact {
  Exact(const Problem& p, bool has_shortcut, bool is_relu) {
    const auto leaf = [](const at::Tensor& t) { return t.to(at::kDouble).set_requires_grad(true); };
    const auto by_channel = [](const at::Tensor& t) { return t.to(at::kDouble).view({1, -1, 1, 1}); };
    const at::Tensor x = leaf(p.x.value);
    const at::Tensor x_tangent = leaf(p.x.tangent);
    const at::Tensor shortcut = leaf(p.shortcut.value);
    const at::Tensor shortcut_tangent = leaf(p.shortcut.tangent);
    // One row a sample, whose gradients are the samples'.
    const auto rows = [&](const at::Tensor& t) {
      return t.to(at::kDouble).expand({p.shape[0], p.shape[1]}).clone().set_requires_grad(true);
    };
    const at::Tensor weight = rows(p.weight);
    const at::Tensor bias = rows(p.bias);
    const auto maps = [](const at::Tensor& t) { return t.unsqueeze(2).unsqueeze(3); };
    const at::Tensor normal = (x - by_channel(p.mean)) * by_channel(p.inverse);
    y = maps(weight) * normal + maps(bias);
    y_tangent = maps(weight) * x_tangent * by_channel(p.inverse) + by_channel(p.weight_tangent) * normal +
                by_channel(p.bias_tangent);
    if (has_shortcut) y = y + shortcut;
    if (has_shortcut) y_tangent = y_tangent + shortcut_tangent;
    if (is_relu) y_tangent = y_tangent * (y > 0);
    if (is_relu) y = y * (y > 0);
    const at::Tensor sum = (y * p.g.value).sum() + (y_tangent * p.g.tangent).sum();
    gradients = torch::autograd::grad({sum}, {x, x_tangent, weight, bias, shortcut, shortcut_tangent}, {},
                                      /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  }

  at::Tensor y, y_tangent;
  std::vector<at::Tensor> gradients;
};

TEST(DualBatchNorm, EqualsItsDefinitionInDouble) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const Case& c : kCases) {
    for (const bool has_shortcut : {false, true}) {
      for (const bool is_relu : {false, true}) {
        SCOPED_TRACE(::testing::Message() << c.samples << "x" << c.channels << "x" << c.height
                                          << ", shortcut " << has_shortcut << ", relu " << is_relu);
        Problem p(c);
        p.run(has_shortcut, is_relu);
        const Exact exact(p, has_shortcut, is_relu);
        // A handful of operations, and sums in pieces of 64: 20 roundings.
        const auto expect = [](const char* what, const at::Tensor& own, const at::Tensor& e) {
          EXPECT_LE(relative_error(own, e), 20 * testing::kRounding * testing::spread_of(e.numel())) << what;
        };
        expect("y", p.y.value, exact.y.detach());
        expect("y'", p.y.tangent, exact.y_tangent.detach());
        expect("dx", p.dx.value, exact.gradients[0]);
        expect("dx'", p.dx.tangent, exact.gradients[1]);
        expect("weights", p.weights, exact.gradients[2]);
        expect("biases", p.biases, exact.gradients[3]);
        if (!has_shortcut) continue;
        expect("shortcut", p.shortcut_gradient.value, exact.gradients[4]);
        expect("shortcut'", p.shortcut_gradient.tangent, exact.gradients[5]);
      }
    }
  }
}

TEST(DualBatchNorm, HasTheSameBitsWithAnyNumberOfThreads) {
  if (!testing::machine_has("avx2", are_available())) return;
  const auto run = [](int threads) {
    const testing::WithThreads with(threads);
    Problem p(kCases[0]);
    p.run(/*has_shortcut=*/true, /*is_relu=*/true);
    return at::cat({p.y.tangent.flatten(), p.dx.value.flatten(), p.weights.flatten(), p.biases.flatten()});
  };
  for (const int threads : {2, 3}) EXPECT_TRUE(run(threads).equal(run(1)));
}

}  // namespace
}  // namespace batchplus::kernels
