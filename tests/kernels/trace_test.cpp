#include "kernels/trace.h"

#include <gtest/gtest.h>

#include "kernels/batch_norm.h"
#include "kernels/convolution.h"
#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"

namespace batchplus::kernels {
namespace {

constexpr ConvolutionGeometry kGeometry{.kernel = 3, .stride = 1, .padding = 1};
constexpr auto kFour = ConvolutionAlgorithm::kWinogradFour;

TEST(KernelTrace, CountsTheWorkOfAConvolutionAndNotWhatItCallsInTurn) {
  if (!testing::machine_has("avx2", are_available())) return;
  const at::Tensor x = at::randn({2, 16, 8, 8}).contiguous(kChannelsLast);
  const at::Tensor g = at::randn_like(x);
  const at::Tensor dx = at::empty_like(x);
  const at::Tensor w = at::randn({16, 16, 3, 3});
  const at::Tensor dw = at::empty_like(w);
  const at::Tensor db = at::empty({16});
  KernelTrace trace;
  // The bias's gradient is a call of channel_sums.
  for (int i = 0; i < 2; ++i) {
    convolution_backward(kFour, kGeometry, {.maps = maps_of(x)}, filters_of(w), maps_of(g),
                         {maps_of(dx), filters_of(dw), db.data_ptr<float>()});
  }
  ASSERT_EQ(trace.totals().size(), 1U);
  const auto& [description, totals] = *trace.totals().begin();
  EXPECT_EQ(description, "convolution 16 to 16, 8x8, kernel 3/1, F(4x4), backward");
  EXPECT_EQ(totals.calls, 2);
  EXPECT_GT(totals.seconds, 0);
  // Two calls of two convolutions, two operations a MAC, a quarter of the direct one's MACs.
  EXPECT_EQ(totals.operations, 2.0 * 2 * 2 * (2 * 8 * 8) * (16 * 16 * 9) / 4);
  // g, x, dx and the filters with their gradient.
  EXPECT_EQ(totals.bytes, 2.0 * 4 * (3 * (2 * 8 * 8 * 16) + 2 * (16 * 16 * 9)));
}

TEST(KernelTrace, SeesCallsOfItsScopeOnly) {
  if (!testing::machine_has("avx2", are_available())) return;
  const at::Tensor x = at::randn({2, 8, 4, 4}).contiguous(kChannelsLast);
  const at::Tensor sums = at::empty({8});
  const auto call = [&] { channel_sums(maps_of(x), sums.data_ptr<float>()); };
  KernelTrace outer;
  {
    KernelTrace inner;
    call();
    EXPECT_EQ(inner.totals().at("channel sums 8, 4x4").calls, 1);
  }
  EXPECT_TRUE(outer.totals().empty());
  call();
  EXPECT_EQ(outer.totals().at("channel sums 8, 4x4").calls, 1);
}

}  // namespace
}  // namespace batchplus::kernels
