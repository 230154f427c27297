#include "kernels/cross_entropy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "support/threads.h"

namespace batchplus::kernels {
namespace {

struct Case {
  at::Tensor logits, labels;
};

Case make_case(int64_t samples, int64_t classes, double scale) {
  at::manual_seed(samples + classes);
  return {at::randn({samples, classes}) * scale, at::randint(classes, {samples}, at::kLong)};
}

double run(const Case& c, const at::Tensor& gradient, double smoothing = 0) {
  return mean_cross_entropy(c.logits.size(0), c.logits.size(1), c.logits.data_ptr<float>(),
                            {.labels = c.labels.data_ptr<int64_t>(), .smoothing = smoothing},
                            gradient.defined() ? gradient.data_ptr<float>() : nullptr);
}

TEST(CrossEntropy, IsThatOfDoublePrecision) {
  for (const int64_t classes : {2, 10, 100}) {
    for (const double scale : {0.0, 1.0, 50.0}) {
      const Case c = make_case(37, classes, scale);
      const at::Tensor logits = c.logits.to(at::kDouble);
      const at::Tensor exact = at::cross_entropy_loss(logits, c.labels);
      const at::Tensor exact_gradient =
          (at::softmax(logits, 1) - at::one_hot(c.labels, classes)) / static_cast<double>(c.labels.size(0));
      const at::Tensor gradient = at::full_like(c.logits, NAN);
      EXPECT_NEAR(run(c, gradient), exact.item<double>(), 1e-13 * (1 + exact.item<double>()));
      // Each number of the gradient is rounded to float once.
      EXPECT_LE((gradient - exact_gradient).abs().max().item<double>(), 6e-8 / 37);
      EXPECT_EQ(run(c, {}), run(c, gradient));
    }
  }
}

TEST(CrossEntropy, OfSmoothedLabelsIsThatOfLibtorchInDoublePrecision) {
  for (const int64_t classes : {2, 10, 100}) {
    for (const double smoothing : {0.1, 0.5, 1.0}) {
      const Case c = make_case(37, classes, 5);
      const at::Tensor logits = c.logits.to(at::kDouble);
      const double exact =
          at::cross_entropy_loss(logits, c.labels, {}, at::Reduction::Mean, -100, smoothing).item<double>();
      const at::Tensor target = (1 - smoothing) * at::one_hot(c.labels, classes).to(at::kDouble) +
                                smoothing / static_cast<double>(classes);
      const at::Tensor exact_gradient = (at::softmax(logits, 1) - target) / 37.0;
      const at::Tensor gradient = at::full_like(c.logits, NAN);
      EXPECT_NEAR(run(c, gradient, smoothing), exact, 1e-13 * (1 + exact));
      EXPECT_LE((gradient - exact_gradient).abs().max().item<double>(), 6e-8 / 37);
      EXPECT_EQ(run(c, {}, smoothing), run(c, gradient, smoothing));
    }
  }
}

TEST(CrossEntropy, OfMixedLabelsIsTheMixtureOfBothLosses) {
  for (const int64_t classes : {2, 10}) {  // labels often meet themselves
    for (const double smoothing : {0.0, 0.1}) {
      const Case c = make_case(37, classes, 5);
      const at::Tensor partners = c.labels.flip(0).contiguous();
      constexpr double kShare = 0.3;
      const at::Tensor logits = c.logits.to(at::kDouble).requires_grad_();
      const auto loss = [&](const at::Tensor& labels) {
        return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, -100, smoothing);
      };
      const at::Tensor exact = kShare * loss(c.labels) + (1 - kShare) * loss(partners);
      const at::Tensor exact_gradient = torch::autograd::grad({exact}, {logits})[0];
      const at::Tensor gradient = at::full_like(c.logits, NAN);
      const double mixed = mean_cross_entropy(37, classes, c.logits.data_ptr<float>(),
                                              {.labels = c.labels.data_ptr<int64_t>(),
                                               .partners = partners.data_ptr<int64_t>(),
                                               .share = kShare,
                                               .smoothing = smoothing},
                                              gradient.data_ptr<float>());
      EXPECT_NEAR(mixed, exact.item<double>(), 1e-13 * (1 + exact.item<double>()));
      EXPECT_LE((gradient - exact_gradient).abs().max().item<double>(), 6e-8 / 37);
    }
  }
}

TEST(CrossEntropy, HasTheSameBitsForAnyNumberOfThreads) {
  const Case c = make_case(1000, 100, 3);
  const at::Tensor gradient = at::empty_like(c.logits);
  const double loss = run(c, gradient);
  for (const int threads : {2, 3, 8}) {
    const testing::WithThreads with(threads);
    const at::Tensor again = at::empty_like(c.logits);
    EXPECT_EQ(run(c, again), loss);
    EXPECT_TRUE(again.equal(gradient));
  }
}

TEST(CrossEntropy, OfEachSampleIsThatOfASampleAlone) {
  const Case c = make_case(7, 10, 3);
  const at::Tensor losses = at::empty({7});
  const at::Tensor gradient = at::empty_like(c.logits);
  cross_entropies(7, 10, c.logits.data_ptr<float>(), c.labels.data_ptr<int64_t>(), losses.data_ptr<float>(),
                  gradient.data_ptr<float>());
  for (int64_t i = 0; i < 7; ++i) {
    const at::Tensor own = at::empty({1, 10});
    const double loss = run({c.logits.slice(0, i, i + 1), c.labels.slice(0, i, i + 1)}, own);
    EXPECT_EQ(losses[i].item<float>(), static_cast<float>(loss));
    EXPECT_TRUE(gradient[i].equal(own[0]));
  }
}

// libtorch in double says what the derivative along a tangent and its own gradient are.
TEST(CrossEntropy, TangentsAreThoseOfDoublePrecision) {
  for (const double scale : {0.0, 1.0, 50.0}) {
    const Case c = make_case(7, 10, scale);
    const at::Tensor t = at::randn_like(c.logits);
    const at::Tensor losses = at::empty({7});
    const at::Tensor tangents = at::empty({7});
    const at::Tensor gradient = at::empty_like(c.logits);
    const at::Tensor second = at::empty_like(c.logits);
    const auto* labels = c.labels.data_ptr<int64_t>();
    cross_entropies(7, 10, c.logits.data_ptr<float>(), labels, losses.data_ptr<float>(),
                    gradient.data_ptr<float>());
    cross_entropy_tangents(7, 10, gradient.data_ptr<float>(), labels, t.data_ptr<float>(),
                           tangents.data_ptr<float>(), second.data_ptr<float>());
    const at::Tensor logits = c.logits.to(at::kDouble).set_requires_grad(true);
    const at::Tensor loss = at::cross_entropy_loss(logits, c.labels, {}, at::Reduction::Sum);
    const at::Tensor exact_gradient =
        torch::autograd::grad({loss}, {logits}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const at::Tensor exact = (exact_gradient * t).sum(1);
    const at::Tensor exact_second = torch::autograd::grad({exact.sum()}, {logits})[0];
    // Each number is rounded once, from gradients that were: errors of a float's last place, of values up to
    // the tangents' size.
    EXPECT_LT((tangents - exact).abs().max().item<double>(), 2e-6);
    EXPECT_LT((second - exact_second).abs().max().item<double>(), 1e-6);
  }
}

TEST(CrossEntropy, OfLogitsThatAreNotNumbersIsNone) {
  Case c = make_case(4, 3, 1);
  c.logits[2][1] = NAN;
  const at::Tensor gradient = at::empty_like(c.logits);
  EXPECT_TRUE(std::isnan(run(c, gradient)));
}

}  // namespace
}  // namespace batchplus::kernels
