#include "kernels/pixel_sums.h"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "kernels/relative_error.h"
#include "kernels/tensors.h"

namespace batchplus::kernels {
namespace {

// Sums of 30 products in single precision.
constexpr double kTolerance = 1e-6;

// Of whole maps, and of some channels of wider ones.
TEST(PixelSums, AreThoseOfEachSampleAndChannel) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({4, 11, 6, 5}).contiguous(kChannelsLast);
  const at::Tensor g = torch::randn({4, 11, 6, 5}).contiguous(kChannelsLast);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 11}, {2, 9}}) {
    const int64_t channels = end - begin;
    const at::Tensor mean = torch::randn({channels});
    const at::Tensor slopes = torch::full({4, channels}, 9.0);
    const at::Tensor sums = torch::full({4, channels}, 9.0);
    const at::Tensor sums_alone = torch::full({4, channels}, 9.0);
    sum_pixels(maps_of(x, begin, end), maps_of(g, begin, end), data_of(mean), data_of(slopes), data_of(sums));
    sum_pixels(maps_of(g, begin, end), data_of(sums_alone));

    const auto exact = [begin = begin, end = end](const at::Tensor& maps) {
      return maps.slice(1, begin, end).to(at::kDouble);
    };
    const at::Tensor centred = exact(x) - mean.to(at::kDouble).view({1, -1, 1, 1});
    EXPECT_LT(relative_error(slopes, (exact(g) * centred).sum({2, 3})), kTolerance);
    EXPECT_LT(relative_error(sums, exact(g).sum({2, 3})), kTolerance);
    EXPECT_TRUE(sums_alone.equal(sums));
  }
}

}  // namespace
}  // namespace batchplus::kernels
