#include "formats/svhn_mat.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::fixture;
using testing::Scratch;

// The files are scipy's (tests/fixtures/make_images.py): labels 10, 1, 5, and
// X[row,column,channel,n] = (7 row + 3 column + 50 channel + 11 n) % 256.
TEST(SvhnMat, TurnsMatlabsOrderIntoPlanesAndTenIntoZero) {
  for (const char* name : {"svhn_compressed.mat", "svhn_plain.mat"}) {
    const ImageBytes images = read_svhn_mat(fixture(name));
    ASSERT_EQ(images.size(), 3) << name;
    EXPECT_EQ(images.labels, (std::vector<int64_t>{0, 1, 5})) << name;
    for (int64_t n = 0; n < 3; ++n) {
      for (int64_t channel = 0; channel < 3; ++channel) {
        for (int64_t row = 0; row < 32; ++row) {
          for (int64_t column = 0; column < 32; ++column) {
            ASSERT_EQ(images.pixels[((n * 3 + channel) * 32 + row) * 32 + column],
                      (7 * row + 3 * column + 50 * channel + 11 * n) % 256);
          }
        }
      }
    }
  }
}

TEST(SvhnMat, SaysWhichVariableIsWrong) {
  expect_error([] { read_svhn_mat(fixture("svhn_wrong_shape.mat")); },
               {"variable X", "another shape", "[16,32,3,3]", "uint8 [32,32,3,n]"});
  expect_error([] { read_svhn_mat(fixture("svhn_wrong_label.mat")); },
               {"variable y", "label out of range", "11 at element 0"});
  expect_error([] { read_svhn_mat(fixture("svhn_no_labels.mat")); }, {"variable y", "does not hold"});
}

TEST(SvhnMat, RefusesOtherFiles) {
  const Scratch scratch;
  const auto read = [&](const std::string& bytes) {
    write_file_atomically(scratch / "x.mat", bytes);
    read_svhn_mat(scratch / "x.mat");
  };
  expect_error([&] { read_svhn_mat(scratch / "none.mat"); }, {"cannot open", "none.mat"});
  expect_error([&] { read("short"); }, {"truncated MATLAB file", "x.mat, offset 5"});
  expect_error([&] { read(std::string(200, 'x')); }, {"not a MATLAB 5 file", "offset 124", "78 78 78 78"});
  std::string hdf5 = read_file(fixture("svhn_plain.mat"));
  hdf5[125] = 2;
  expect_error([&] { read(hdf5); }, {"7.3", "-v7"});
}

TEST(SvhnMat, RefusesEveryTruncation) {
  const Scratch scratch;
  for (const char* name : {"svhn_compressed.mat", "svhn_plain.mat"}) {
    const std::string whole = read_file(fixture(name));
    for (size_t size = 0; size < whole.size(); size += 1 + size / 50) {
      write_file_atomically(scratch / "x.mat", whole.substr(0, size));
      expect_error([&] { read_svhn_mat(scratch / "x.mat"); }, {"x.mat"});
    }
  }
}

// matio would return memory that nobody wrote.
TEST(SvhnMat, RefusesDamagedCompressedData) {
  const Scratch scratch;
  const std::string whole = read_file(fixture("svhn_compressed.mat"));
  for (size_t position = 140; position < whole.size(); position += 37) {
    std::string damaged = whole;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x10);
    write_file_atomically(scratch / "x.mat", damaged);
    expect_error([&] { read_svhn_mat(scratch / "x.mat"); }, {"x.mat"});
  }
}

}  // namespace
}  // namespace batchplus
