#include "kernels/random_fill.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace batchplus::kernels {
namespace {

TEST(RandomFill, NormalNumbersAreLibtorchsWithinAFewRoundings) {
  for (const int64_t size : {16, 17, 31, 32, 1000, 4096}) {
    at::manual_seed(5);
    const at::Tensor theirs = at::empty({size}).normal_(0, 0.3);
    at::manual_seed(5);
    const at::Tensor ours = at::empty({size}).uniform_(0, 1);
    const at::Tensor last = at::empty({16});
    if (size % 16 != 0) last.uniform_(0, 1);
    uniform_to_normal(ours.data_ptr<float>(), size, last.data_ptr<float>(), 0.3);
    // libtorch computes logarithm, sine and cosine in float.
    EXPECT_LE((ours - theirs).abs().max().item<double>(), 1e-6) << size;
  }
}

TEST(RandomFill, NormalNumbersHaveTheMomentsOfTheDistribution) {
  constexpr int64_t kSize = 1 << 18;
  at::manual_seed(1);
  const at::Tensor x = at::empty({kSize}).uniform_(0, 1);
  uniform_to_normal(x.data_ptr<float>(), kSize, nullptr, 2);
  // Within four standard errors: 2 / sqrt(n), and sqrt(2) 4 / sqrt(n) for the variance.
  EXPECT_NEAR(x.mean().item<double>(), 0, 4 * 2 / std::sqrt(kSize));
  EXPECT_NEAR(x.var().item<double>(), 4, 4 * std::sqrt(2.0) * 4 / std::sqrt(kSize));
}

TEST(RandomFill, UniformNumbersAreLibtorchsWithinARounding) {
  at::manual_seed(3);
  const at::Tensor theirs = at::empty({1000}).uniform_(-0.7, 0.7);
  at::manual_seed(3);
  const at::Tensor ours = at::empty({1000}).uniform_(0, 1);
  scale_uniform(ours.data_ptr<float>(), 1000, -0.7F, 0.7F);
  EXPECT_LE((ours - theirs).abs().max().item<double>(), 6e-8);
}

}  // namespace
}  // namespace batchplus::kernels
