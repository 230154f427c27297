#include "data/load_pictures.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load_dataset.h"
#include "datasets/picture_folder.h"
#include "datasets/read_samples.h"
#include "formats/png_image.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::fixture;
using testing::Scratch;

void write_picture(const fs::path& path, uint8_t value) {
  constexpr int64_t side = 32;
  make_directories(path.parent_path());
  RgbImage image{side, side, std::vector<uint8_t>(static_cast<size_t>(3 * side * side), value)};
  image.pixels[1] = 200;  // green of the first pixel
  write_file_atomically(path, encode_png(image));
}

void write_split(const fs::path& folder) {
  for (const std::string part : {"train", "test"}) {
    for (const std::string name : {"cat", "ant"}) {
      for (int i = 0; i < (part == "train" ? 3 : 1); ++i) {
        write_picture(folder / part / name / fmt::format("{}.png", i),
                      static_cast<uint8_t>(name == "cat" ? 50 + i : i));
      }
    }
  }
}

TEST(LoadPictures, NumbersClassesAndPicturesByName) {
  const Scratch scratch;
  write_split(scratch.path());
  write_file_atomically(scratch / "train" / "cat" / "notes.txt", "not a picture");
  const DatasetInfo info = find_dataset("folder:" + scratch.path().string());
  EXPECT_EQ(info.classes, 2);
  EXPECT_EQ(info.train_samples, 6) << "counted by name";
  const Dataset dataset = load_dataset(info, "/nowhere");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(dataset.train.size(), 6);
  EXPECT_EQ(dataset.test.size(), 2);
  EXPECT_EQ(dataset.train.labels[4].item<int64_t>(), 1);
  EXPECT_EQ(dataset.train.images[4][0][31][31].item<int>(), 51);
  EXPECT_EQ(dataset.train.images[4][1][0][0].item<int>(), 200);
  EXPECT_NEAR(dataset.normalization.mean[0], (0 + 1 + 2 + 50 + 51 + 52) / 6.0 / 255, 1e-12);
}

TEST(LoadPictures, WithoutASplitKeepsEveryFifthPictureForTesting) {
  const Scratch scratch;
  for (int i = 0; i < 10; ++i) {
    write_picture(scratch / "a" / fmt::format("{}.png", i), static_cast<uint8_t>(i));
    write_picture(scratch / "b" / fmt::format("{}.PNG", i), static_cast<uint8_t>(100 + i));
  }
  EXPECT_EQ(count_training_pictures(scratch.path()), 16);
  const Dataset dataset = load_pictures(scratch.path());
  EXPECT_EQ(dataset.train.size(), 16);
  const SampleCounts counted = count_samples({}, {scratch.path()});
  EXPECT_EQ(counted.train, 16);
  EXPECT_EQ(counted.test, 4);
  ASSERT_EQ(dataset.test.size(), 4);
  EXPECT_EQ(dataset.test.images[0][0][9][9].item<int>(), 4);
  EXPECT_EQ(dataset.test.images[3][0][9][9].item<int>(), 109);
}

// Pillow's resize with BILINEAR, which averages over the source's pixels too; it rounds in fixed point.
TEST(LoadPictures, ResizesLikePillow) {
  const Scratch scratch;
  for (const std::string part : {"train", "test"}) {
    for (const std::string name : {"a", "b"}) make_directories(scratch / part / name);
    fs::copy_file(fixture("picture_40x48.png"), scratch / part / "a" / "x.png");
    fs::copy_file(fixture("picture_32x32.png"), scratch / part / "b" / "x.png");
  }
  const Dataset dataset = load_pictures(scratch.path());
  const torch::Tensor difference =
      (dataset.train.images[0].to(torch::kInt32) - dataset.train.images[1].to(torch::kInt32)).abs();
  EXPECT_LE(difference.max().item<int>(), 1);
}

TEST(LoadPictures, SaysWhatIsWrong) {
  const Scratch scratch;
  expect_error([&] { find_dataset("folder:" + (scratch / "none").string()); }, {"none", "folder:PATH"});
  expect_error([&] { find_dataset("folder:" + scratch.path().string()); },
               {"not a folder of pictures", "0 folders"});
  write_split(scratch.path());
  fs::rename(scratch / "test" / "cat", scratch / "test" / "dog");
  expect_error([&] { load_pictures(scratch.path()); }, {"different classes", "ant, dog", "ant, cat"});
  fs::rename(scratch / "test" / "dog", scratch / "test" / "cat");
  fs::create_symlink("not-fetched", scratch / "train" / "cat" / "9.png");
  expect_error([&] { load_pictures(scratch.path()); }, {"the link leads to no file", "9.png", "not-fetched"});
  fs::remove(scratch / "train" / "cat" / "9.png");
  write_file_atomically(scratch / "train" / "cat" / "1.png", "broken");
  expect_error([&] { load_pictures(scratch.path()); }, {"cannot decode", "1.png"});
  expect_error([&] { count_samples({}, {scratch.path()}); }, {"cannot decode", "1.png"});
  fs::remove_all(scratch / "train" / "cat");
  make_directories(scratch / "train" / "cat");
  expect_error([&] { load_pictures(scratch.path()); }, {"no PNG pictures", "cat"});
}

}  // namespace
}  // namespace batchplus
