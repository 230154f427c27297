#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace batchplus {

/// PNG pictures sorted into a folder for each class, as 3x32x32. `path` holds train/CLASS/*.png and
/// test/CLASS/*.png, with the same classes; or CLASS/*.png, and then every fifth picture of a class, in the
/// order of the names, is for testing. Pictures of another size are resized (bilinear with antialiasing, the
/// sides' ratio is not kept). Classes are numbered in the order of their names.
Dataset load_image_folder(const std::filesystem::path& path);

/// How many of its pictures are for training, by their names alone: no picture is read.
int64_t count_training_pictures(const std::filesystem::path& path);

/// The classes of such a folder, without reading pictures.
std::vector<std::string> image_folder_classes(const std::filesystem::path& path);

}  // namespace batchplus
