#include "data/cutout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "data/image_transform.h"

namespace batchplus {
namespace {

constexpr int64_t kSide = 6;

TEST(Cutout, IsASquareAroundAPixelDrawnEvenlyAsFarAsItLiesWithin) {
  constexpr int64_t kHeight = 8;
  constexpr int64_t kWidth = 11;
  constexpr int kDraws = 88000;
  std::vector<int> centres(kHeight * kWidth);
  for (int i = 0; i < kDraws; ++i) {
    const Cutout cut =
        draw_cutout(/*seed=*/3, static_cast<uint64_t>(i / 100), i % 100, kSide, kHeight, kWidth);
    ASSERT_TRUE(0 <= cut.top && cut.top < cut.bottom && cut.bottom <= kHeight);
    ASSERT_TRUE(0 <= cut.left && cut.left < cut.right && cut.right <= kWidth);
    // The pixel that it is around, from the border that was not cut off.
    const int64_t y = cut.bottom < kHeight ? cut.bottom - kSide / 2 : cut.top + kSide / 2;
    const int64_t x = cut.right < kWidth ? cut.right - kSide / 2 : cut.left + kSide / 2;
    EXPECT_EQ(cut.top, std::max<int64_t>(0, y - kSide / 2));
    EXPECT_EQ(cut.left, std::max<int64_t>(0, x - kSide / 2));
    ++centres.at(static_cast<size_t>(y * kWidth + x));
  }
  double chi_square = 0;
  for (const int count : centres) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 133.5);  // the 99.9 % quantile with 87 degrees of freedom; the seed is fixed
}

TEST(Cutout, DependsOnSeedEpochAndSampleAlone) {
  const auto top_left = [](uint64_t seed, uint64_t epoch, int64_t sample) {
    const Cutout cut = draw_cutout(seed, epoch, sample, 2, 1000, 1000);
    return cut.top * 1000 + cut.left;
  };
  EXPECT_EQ(top_left(1, 2, 3), top_left(1, 2, 3));
  EXPECT_NE(top_left(1, 2, 3), top_left(2, 2, 3));
  EXPECT_NE(top_left(1, 2, 3), top_left(1, 3, 3));
  EXPECT_NE(top_left(1, 2, 3), top_left(1, 2, 4));
}

TEST(Cutout, OfTransformedImagesIsAllThatDiffersInBothMemoryFormats) {
  torch::manual_seed(1);
  const ImageSet set{torch::randint(0, 256, {20, 3, 32, 32}).to(torch::kUInt8), torch::zeros({20})};
  const Normalization normalization{{0.5, 0.4, 0.3}, {0.25, 0.3, 0.2}};
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 20; ++i) indices.push_back(i);
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    const auto images = [&](int64_t cutout) {
      const torch::Tensor out = torch::empty({20, 3, 32, 32}, torch::TensorOptions().memory_format(format));
      ImageTransform(normalization, true, cutout).apply(set, indices, /*seed=*/5, /*epoch=*/2, out);
      return out;
    };
    torch::Tensor expected = images(0);
    for (int64_t i = 0; i < 20; ++i) {
      const Cutout cut = draw_cutout(5, 2, i, 16, 32, 32);
      expected[i].slice(1, cut.top, cut.bottom).slice(2, cut.left, cut.right).zero_();
    }
    EXPECT_TRUE(images(16).equal(expected));
    EXPECT_FALSE(images(16).equal(images(0)));
  }
}

}  // namespace
}  // namespace batchplus
