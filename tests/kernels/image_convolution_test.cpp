#include "kernels/image_convolution.h"

#include <gtest/gtest.h>

#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "kernels/unfolded_convolution.h"
#include "support/machine.h"
#include "support/threads.h"

namespace batchplus::kernels {
namespace {

struct Case {
  int64_t samples, in, out, height, width, stride;
};

// Whole and partial vectors of filters, rows that are no multiple of what is computed at a time, one sample,
// and enough samples for all parts of a sum.
TEST(ImageConvolution, GivesTheBitsOfPatches) {
  testing::machine_has("avx2", are_available());
  for (const Case& c : {Case{3, 3, 16, 32, 32, 1}, Case{9, 3, 24, 13, 19, 1}, Case{11, 1, 6, 28, 28, 1},
                        Case{1, 3, 64, 7, 5, 1}, Case{10, 3, 20, 9, 7, 2}, Case{2, 1, 1, 1, 1, 1}}) {
    at::manual_seed(c.samples + c.out);
    const ConvolutionGeometry geometry{3, c.stride, 1};
    const at::Tensor x = at::randn({c.samples, c.in, c.height, c.width}).contiguous(kChannelsLast);
    const at::Tensor w = at::randn({c.out, c.in, 3, 3});
    const at::Tensor bias = at::randn({c.out});
    const at::Tensor g = at::randn_like(at::conv2d(x, w, bias, c.stride, 1)).contiguous(kChannelsLast);
    const ConvolutionInput input{.maps = maps_of(x)};
    ASSERT_TRUE(takes_images(geometry, input));
    for (const int threads : {1, 2, 5}) {
      const testing::WithThreads with(threads);
      for (const float* addend :
           {static_cast<const float*>(nullptr), static_cast<const float*>(bias.data_ptr<float>())}) {
        const at::Tensor y = at::full_like(g, NAN);
        const at::Tensor expected = at::full_like(g, NAN);
        image_forward(geometry, input, filters_of(w), addend, maps_of(y));
        unfolded_forward(geometry, input, filters_of(w), addend, maps_of(expected));
        EXPECT_TRUE(y.equal(expected)) << c.in << " to " << c.out;
      }
      const at::Tensor dw = at::full_like(w, NAN);
      const at::Tensor expected = at::full_like(w, NAN);
      image_filters_gradient(geometry, input, maps_of(g), filters_of(dw));
      unfolded_backward(geometry, input, filters_of(w), maps_of(g), {{}, filters_of(expected), nullptr});
      EXPECT_TRUE(dw.equal(expected)) << c.in << " to " << c.out;
    }
  }
}

TEST(ImageConvolution, LeavesOtherShapesToPatches) {
  const ConvolutionInput wide{.maps = {.channels = 16, .stride = 16}};
  const ConvolutionInput image{.maps = {.channels = 3, .stride = 3}};
  const ConvolutionInput part{.maps = {.channels = 3, .stride = 8}};
  EXPECT_TRUE(takes_images({3, 1, 1}, image));
  EXPECT_FALSE(takes_images({3, 1, 1}, wide));
  EXPECT_FALSE(takes_images({3, 1, 1}, part));
  EXPECT_FALSE(takes_images({11, 4, 5}, image));
  EXPECT_FALSE(takes_images({3, 1, 0}, image));
}

}  // namespace
}  // namespace batchplus::kernels
