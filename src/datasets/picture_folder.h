#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace batchplus {

struct LabelledPicture {
  std::filesystem::path path;
  int64_t label = 0;
};

/// PNG pictures sorted into a folder for each class.
struct PictureFolder {
  std::vector<std::string> class_names;
  std::vector<LabelledPicture> train;
  std::vector<LabelledPicture> test;
};

/// `path` holds train/CLASS/*.png and test/CLASS/*.png, with the same classes; or CLASS/*.png, and then every
/// fifth picture of a class, in the order of the names, is for testing. Classes are numbered in the order of
/// their names. No picture is read.
PictureFolder list_pictures(const std::filesystem::path& path);

/// How many of its pictures are for training, whether or not there are any for testing.
int64_t count_training_pictures(const std::filesystem::path& path);

/// The classes of such a folder.
std::vector<std::string> picture_classes(const std::filesystem::path& path);

}  // namespace batchplus
