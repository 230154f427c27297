#include "formats/cifar_records.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

/// Records with the given label bytes in front; pixel p of record i is (i + p) % 251.
std::string records(const std::vector<std::string>& labels) {
  std::string bytes;
  for (size_t i = 0; i < labels.size(); ++i) {
    bytes += labels[i];
    for (size_t p = 0; p < 3072; ++p) bytes.push_back(static_cast<char>((i + p) % 251));
  }
  return bytes;
}

TEST(CifarRecords, AppendsInOrder) {
  ImageBytes images;
  append_cifar_records(records({"\x03", "\x09"}), kCifar10Labels, "a", images);
  append_cifar_records(records({"\x01"}), kCifar10Labels, "b", images);
  EXPECT_EQ(images.labels, (std::vector<int64_t>{3, 9, 1}));
  ASSERT_EQ(images.pixels.size(), 3U * 3072U);
  EXPECT_EQ(images.pixels[3072 + 5], 6);
  EXPECT_EQ(images.channels, 3);
  EXPECT_EQ(images.height * images.width, 1024);
}

TEST(CifarRecords, TakesTheFineLabelOfCifar100) {
  ImageBytes images;
  append_cifar_records(records({std::string("\x13\x63", 2), std::string("\x00\x2a", 2)}), kCifar100Labels,
                       "a", images);
  EXPECT_EQ(images.labels, (std::vector<int64_t>{99, 42}));
  EXPECT_EQ(images.pixels[3072], 1);
}

TEST(CifarRecords, NamesTheOffsetOfWhatIsWrong) {
  const auto parse = [](const std::string& bytes, const CifarLabels& layout) {
    ImageBytes images;
    append_cifar_records(bytes, layout, "data.bin", images);
  };
  const std::string three = records({"\x01", "\x02", "\x03"});
  expect_error([&] { parse(three.substr(0, 2 * 3073 + 100), kCifar10Labels); },
               {"truncated", "data.bin, offset 6146", "6246 bytes"});
  expect_error([&] { parse(three + "x", kCifar10Labels); }, {"truncated", "offset 9219"});
  expect_error([&] { parse("", kCifar10Labels); }, {"truncated", "0 bytes"});
  expect_error(
      [&] {
        parse(records({"\x01", "\x0a"}), kCifar10Labels);
      },
      {"label out of range", "data.bin, offset 3073", "10", "0 to 9"});
  expect_error([&] { parse(records({std::string("\x14\x00", 2)}), kCifar100Labels); },
               {"label out of range", "offset 0", "20", "0 to 19"});
  expect_error([&] { parse(records({std::string("\x00\x64", 2)}), kCifar100Labels); },
               {"label out of range", "offset 1", "100"});
}

}  // namespace
}  // namespace batchplus
