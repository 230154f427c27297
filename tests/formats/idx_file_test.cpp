#include "formats/idx_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "formats/gzip.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

using testing::big_endian;
using testing::expect_error;

/// `count` images of 2 x 3 whose bytes count up.
std::string idx_images(uint32_t count) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(2) + big_endian(3);
  for (uint32_t i = 0; i < count * 6; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

std::string idx_labels(uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i % 10));
  return bytes;
}

std::string gzip(const std::string& bytes) {
  const testing::Scratch scratch;
  gzFile file = gzopen((scratch / "file").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return read_file(scratch / "file");
}

ImageBytes read(const std::string& images, const std::string& labels = idx_labels(4)) {
  return read_idx_pair({images, "images"}, {labels, "labels"}, 10);
}

TEST(Idx, ReadsPlainAndGzippedFilesAlike) {
  const ImageBytes plain = read(idx_images(4));
  EXPECT_EQ(plain.channels, 1);
  EXPECT_EQ(plain.height, 2);
  EXPECT_EQ(plain.width, 3);
  EXPECT_EQ(plain.pixels[17], 17);
  EXPECT_EQ(plain.labels, (std::vector<int64_t>{0, 1, 2, 3}));
  const ImageBytes zipped = read(gzip(idx_images(4)), gzip(idx_labels(4)));
  EXPECT_EQ(zipped.pixels, plain.pixels);
  EXPECT_EQ(zipped.labels, plain.labels);
}

TEST(Idx, NamesTheOffsetOfWhatIsWrong) {
  expect_error([&] { read(idx_images(4).substr(0, 30)); },
               {"truncated", "images, offset 16", "14 bytes of data instead of 24"});
  expect_error([&] { read(idx_images(4).substr(0, 10)); }, {"truncated", "images, offset 8"});
  expect_error([&] { read(idx_images(4) + "x"); }, {"longer", "images, offset 16", "25 bytes"});
  expect_error([&] { read(idx_labels(4)); }, {"not an idx file", "images, offset 0", "0x00000801"});
  expect_error([&] { read(idx_images(3)); }, {"differ in number", "3 images, 4 labels"});
  const std::string huge =
      big_endian(0x803) + big_endian(0xffffffff) + big_endian(0xffffffff) + big_endian(2);
  expect_error([&] { read(huge); }, {"does not fit the file", "dimension of 4294967295"});
  expect_error([&] { read(big_endian(0x803) + big_endian(0) + big_endian(2) + big_endian(2)); },
               {"does not fit"});
  std::string bad_label = idx_labels(4);
  bad_label[8 + 2] = 11;
  expect_error([&] { read(idx_images(4), bad_label); }, {"label out of range", "labels, offset 10", "11"});
}

TEST(Gzip, RefusesWhatIsCutOrChanged) {
  const std::string whole = gzip(idx_images(4));
  expect_error([&] { read(whole.substr(0, whole.size() - 12)); }, {"truncated gzip", "images, offset"});
  std::string changed = whole;
  changed[whole.size() - 6] = static_cast<char>(changed[whole.size() - 6] ^ 1);  // of the checksum
  expect_error([&] { read(changed); }, {"damaged gzip", "images", "incorrect data check"});
}

TEST(Gzip, ReadsSeveralMembersAndLeavesOtherBytesAlone) {
  EXPECT_EQ(gunzip(gzip("one ") + gzip("two"), "x"), "one two");
  EXPECT_EQ(gunzip("plain", "x"), "plain");
  EXPECT_EQ(gunzip("", "x"), "");
}

}  // namespace
}  // namespace batchplus
