#include "data/augmentation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

#include "data/image_grid.h"
#include "support/fixture.h"
#include "util/file.h"

namespace batchplus {
namespace {

/// Pearson's statistic of counts that should be equal.
template <size_t kCells>
double chi_square(const std::array<int, kCells>& counts, int draws) {
  const double expected = static_cast<double>(draws) / kCells;
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Augmentation, DrawsMirroringAndOffsetsEvenly) {
  constexpr int kDraws = 162000;
  std::array<int, 2> mirrored{};
  std::array<int, 81> offsets{};
  std::array<int, 162> together{};
  for (int i = 0; i < kDraws; ++i) {
    const Augmentation drawn =
        draw_augmentation(/*seed=*/7, /*epoch=*/static_cast<uint64_t>(i / 1000), i % 1000);
    ASSERT_LE(std::abs(drawn.dy), 4);
    ASSERT_LE(std::abs(drawn.dx), 4);
    const int offset = static_cast<int>((drawn.dy + 4) * 9 + drawn.dx + 4);
    ++mirrored[drawn.is_mirrored];
    ++offsets[offset];
    ++together[drawn.is_mirrored * 81 + offset];
  }
  // 99.9 % quantiles with 1, 80 and 161 degrees of freedom; the seed is fixed.
  EXPECT_LT(chi_square(mirrored, kDraws), 10.83);
  EXPECT_LT(chi_square(offsets, kDraws), 124.8);
  EXPECT_LT(chi_square(together, kDraws), 222.1);
}

/// The picture of tests/fixtures/make_images.py: red grows to the right, green downwards, and blue fills a
/// triangle whose size tells the sample. [n,3,32,32]
ImageSet test_pictures(int64_t samples) {
  ImageSet set{torch::empty({samples, 3, 32, 32}, torch::kUInt8), torch::arange(samples)};
  auto* pixel = set.images.data_ptr<uint8_t>();
  for (int64_t sample = 0; sample < samples; ++sample) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t y = 0; y < 32; ++y) {
        for (int64_t x = 0; x < 32; ++x) {
          const int64_t blue = x + 2 * y < 24 + 8 * sample ? 255 : 40;
          *pixel++ = static_cast<uint8_t>(channel == 0 ? 8 * x + 7 : channel == 1 ? 8 * y + 7 : blue);
        }
      }
    }
  }
  return set;
}

// The golden grid was drawn by make_images.py, with a Philox of its own, numpy's pad and slices.
TEST(Augmentation, EqualsTheGoldenGrid) {
  const RgbImage golden = decode_png(read_file(testing::fixture("augmented_grid.png")), "golden");
  const ImageGrid grid =
      sample_grid(test_pictures(4), {"a", "b", "c", "d"}, {.columns = 9, .is_augmented = true, .seed = 1});
  ASSERT_EQ(golden.width, 9 * 32);
  ASSERT_EQ(golden.height, 4 * 32);
  ASSERT_EQ(grid.rows.size(), 4U);
  for (int64_t y = 0; y < golden.height; ++y) {
    for (int64_t x = 0; x < golden.width; ++x) {
      const RgbImage& cell = grid.rows[y / 32].images[x / 32];
      for (int64_t c = 0; c < 3; ++c) {
        ASSERT_EQ(cell.pixels[3 * (y % 32 * 32 + x % 32) + c], golden.pixels[3 * (y * golden.width + x) + c])
            << "row " << y << ", column " << x;
      }
    }
  }
}

TEST(ImageGrid, DrawsEveryImageOverItsLabel) {
  ImageGrid grid = sample_grid(test_pictures(4), {"a", "b", "c", "d", "nothing"}, {.columns = 2});
  grid.title = "title";
  ASSERT_EQ(grid.rows.size(), 4U) << "a class without samples has no row";
  const RgbImage picture = decode_png(draw_grid(grid), "picture");
  // Each image is there, enlarged by two: its corner colours appear in the right columns of some row.
  const auto has = [&](uint8_t red, uint8_t green, uint8_t blue) {
    for (size_t i = 0; i + 2 < picture.pixels.size(); i += 3) {
      if (picture.pixels[i] == red && picture.pixels[i + 1] == green && picture.pixels[i + 2] == blue)
        return true;
    }
    return false;
  };
  EXPECT_TRUE(has(7, 7, 255));
  EXPECT_TRUE(has(255, 255, 40));
  EXPECT_FALSE(has(8, 7, 255)) << "no colour is mixed";
}

}  // namespace
}  // namespace batchplus
