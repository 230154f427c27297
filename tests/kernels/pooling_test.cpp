#include "kernels/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/processor.h"
#include "kernels/relative_error.h"
#include "kernels/tensors.h"
#include "support/machine.h"
#include "support/rounding.h"

namespace batchplus::kernels {
namespace {

TEST(MaxPool, HasLibtorchsBits) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const auto& [channels, height, width, side] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>{
           {64, 8, 8, 2}, {13, 7, 9, 2}, {5, 9, 9, 3}}) {
    at::manual_seed(channels);
    // Few values, so that many windows have several largest ones; the first counts.
    const at::Tensor x = at::randn({3, channels, height, width}).mul_(2).round_().contiguous(kChannelsLast);
    x[1][0][0][1] = NAN;
    const auto [expected, indices] = at::max_pool2d_with_indices(x, side);
    const at::Tensor y = at::empty_like(expected);
    const at::Tensor places = at::empty({y.numel()}, at::kByte);
    max_pool_forward(maps_of(x), side, maps_of(y), places.data_ptr<uint8_t>());
    EXPECT_TRUE(at::allclose(y, expected, 0, 0, /*equal_nan=*/true));
    const at::Tensor g = at::randn_like(expected);
    const at::Tensor dx = at::full_like(x, NAN);
    max_pool_backward(maps_of(g), side, places.data_ptr<uint8_t>(), maps_of(dx));
    const at::Tensor expected_dx =
        at::max_pool2d_with_indices_backward(g, x, side, {}, 0, 1, /*ceil_mode=*/false, indices);
    EXPECT_TRUE(dx.equal(expected_dx));
    // A tangent comes from the same pixels.
    const at::Tensor t = at::randn_like(x);
    const at::Tensor y_tangent = at::full_like(y, NAN);
    max_pool_tangent(maps_of(t), side, maps_of(y_tangent), places.data_ptr<uint8_t>());
    EXPECT_TRUE(y_tangent.equal(t.flatten(2).gather(2, indices.flatten(2)).view_as(y)));
  }
}

TEST(AveragePool, IsTheMeanOfEachWindow) {
  if (!testing::machine_has("avx2", are_available())) return;
  for (const auto& [channels, height, width, side] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>{
           {64, 8, 8, 8}, {13, 7, 9, 2}, {5, 9, 9, 3}, {24, 4, 4, 2}}) {
    at::manual_seed(channels);
    const at::Tensor x = at::randn({3, channels, height, width}).contiguous(kChannelsLast);
    const at::Tensor exact = at::avg_pool2d(x.to(at::kDouble), side);
    const at::Tensor y = at::full_like(exact, NAN, at::kFloat).contiguous(kChannelsLast);
    average_pool_forward(maps_of(x), side, maps_of(y));
    EXPECT_LE(relative_error(y, exact), testing::running_sum_rounding(side * side));
    const at::Tensor g = at::randn_like(y);
    const at::Tensor dx = at::full_like(x, NAN);
    average_pool_backward(maps_of(g), side, maps_of(dx));
    const at::Tensor exact_dx =
        at::avg_pool2d_backward(g.to(at::kDouble), x.to(at::kDouble), {side, side}, {side, side}, {0, 0},
                                /*ceil_mode=*/false, /*count_include_pad=*/true, c10::nullopt);
    EXPECT_LE(relative_error(dx, exact_dx), testing::kRounding);
  }
}

}  // namespace
}  // namespace batchplus::kernels
