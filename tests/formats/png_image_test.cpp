#include "formats/png_image.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/fixture.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::fixture;

TEST(Png, RoundTrips) {
  RgbImage image{3, 2, {}};
  for (uint8_t i = 0; i < 18; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 14));
  const RgbImage read = decode_png(encode_png(image), "x");
  EXPECT_EQ(read.width, 3);
  EXPECT_EQ(read.height, 2);
  EXPECT_EQ(read.pixels, image.pixels);
}

TEST(Png, KnowsItsOwnFilesAgainUntilTheyAreChanged) {
  const std::string plain = encode_png({2, 1, {1, 2, 3, 4, 5, 6}});
  const std::string own = sign_png(plain);
  EXPECT_TRUE(has_signature(own));
  EXPECT_EQ(decode_png(own, "x").pixels, decode_png(plain, "x").pixels);
  EXPECT_FALSE(has_signature(plain));
  EXPECT_FALSE(has_signature(""));
  EXPECT_FALSE(has_signature(read_file(fixture("picture_40x48.png"))));
  for (size_t i = 0; i < own.size(); ++i) {
    std::string changed = own;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(has_signature(changed)) << i;
  }
}

// Pillow's file; make_images.py sets red to 6 x and green to 5 y.
TEST(Png, ReadsAnotherProgramsFile) {
  const RgbImage image = decode_png(read_file(fixture("picture_40x48.png")), "x");
  ASSERT_EQ(image.width, 40);
  ASSERT_EQ(image.height, 48);
  const uint8_t* pixel = image.pixels.data() + 3 * (7 * 40 + 11);
  EXPECT_EQ(pixel[0], 66);
  EXPECT_EQ(pixel[1], 35);
}

// Pixels are data: 16 bits are no linear light, and a tag for the gamma of a screen does not change them.
TEST(Png, ReadsPixelValuesWhateverTheirDepthAndTags) {
  const std::vector<uint8_t> grey(6, 77);
  EXPECT_EQ(decode_png(read_file(fixture("grey77_16bit.png")), "x").pixels, grey);
  EXPECT_EQ(decode_png(read_file(fixture("grey77_linear.png")), "x").pixels, grey);
}

// 100 * 128 / 255 = 50.2, 200 * 51 / 255 = 40.
TEST(Png, LaysPixelValuesOverBlack) {
  EXPECT_EQ(decode_png(read_file(fixture("opacity.png")), "x").pixels,
            (std::vector<uint8_t>{50, 50, 50, 40, 40, 40}));
}

TEST(Png, RefusesDamagedFilesAndNamesThem) {
  const std::string whole = read_file(fixture("picture_40x48.png"));
  expect_error([&] { decode_png(whole.substr(0, whole.size() / 2), "cut.png"); },
               {"cannot decode", "cut.png"});
  expect_error([&] { decode_png("no picture", "x.png"); }, {"cannot decode", "x.png"});
  expect_error([&] { decode_png("", "x.png"); }, {"cannot decode", "x.png"});
  std::string huge = whole;
  huge[16] = huge[20] = 0x0f;  // width and height of 252 million; the header's checksum is wrong as well
  expect_error([&] { decode_png(huge, "x.png"); }, {"x.png"});
}

TEST(Png, RefusesAChunkLongerThanTheFile) {
  std::string file = read_file(fixture("picture_40x48.png"));
  const std::string chunk("\x44\x52\x00\x00sCAL", 8);  // claims a gigabyte
  file.insert(33, chunk);                              // behind the header
  expect_error([&] { decode_png(file, "x.png"); }, {"x.png"});
}

}  // namespace
}  // namespace batchplus
