#include "data/image_folder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/functional/upsampling.h>

#include <algorithm>

#include "formats/png_image.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPixelBytes = 3 * kSide * kSide;
constexpr size_t kTestEvery = 5;

std::vector<fs::path> sorted_entries(const fs::path& folder, bool (*is_wanted)(const fs::directory_entry&)) {
  std::error_code problem;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const bool is_hidden = entry.path().filename().string().starts_with(".");
    if (!is_hidden && is_wanted(entry)) entries.push_back(entry.path());
  }
  if (problem) {
    throw Error("cannot read the folder", {folder.string(), problem.message(), "folder:PATH names a folder"});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<fs::path> class_folders(const fs::path& folder) {
  return sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
}

std::vector<fs::path> pictures(const fs::path& folder) {
  auto found = sorted_entries(folder, [](const fs::directory_entry& entry) {
    std::string extension = entry.path().extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(), ::tolower);
    return entry.is_regular_file() && extension == ".png";
  });
  if (found.empty()) throw Error("no PNG pictures", {folder.string(), "", "each class has at least one"});
  return found;
}

std::vector<std::string> names_of(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.filename().string());
  return names;
}

bool has_split(const fs::path& path) {
  return fs::is_directory(path / "train") && fs::is_directory(path / "test");
}

/// [3,32,32], uint8.
torch::Tensor read_picture(const fs::path& path) {
  RgbImage image = decode_png(read_file(path), path.string());
  const torch::Tensor pixels =
      torch::from_blob(image.pixels.data(), {image.height, image.width, 3}, torch::kUInt8).permute({2, 0, 1});
  if (image.height == kSide && image.width == kSide) return pixels.contiguous();
  namespace F = torch::nn::functional;
  const torch::Tensor resized =
      F::interpolate(pixels.unsqueeze(0).to(torch::kFloat32), F::InterpolateFuncOptions()
                                                                  .size(std::vector<int64_t>{kSide, kSide})
                                                                  .mode(torch::kBilinear)
                                                                  .align_corners(false)
                                                                  .antialias(true));
  return resized.round().clamp(0, 255).to(torch::kUInt8).squeeze(0).contiguous();
}

void append(const fs::path& picture, int64_t label, ImageBytes& images) {
  const torch::Tensor pixels = read_picture(picture);
  const auto* bytes = pixels.data_ptr<uint8_t>();
  images.pixels.insert(images.pixels.end(), bytes, bytes + kPixelBytes);
  images.labels.push_back(label);
}

/// Of a folder without a split.
bool is_for_testing(size_t number) {
  return number % kTestEvery == kTestEvery - 1;
}

ImageBytes empty_images() {
  return {3, kSide, kSide, {}, {}};
}

ImageBytes read_classes(const std::vector<fs::path>& folders) {
  ImageBytes images = empty_images();
  for (size_t c = 0; c < folders.size(); ++c) {
    for (const auto& picture : pictures(folders[c])) append(picture, static_cast<int64_t>(c), images);
  }
  return images;
}

}  // namespace

std::vector<std::string> image_folder_classes(const fs::path& path) {
  const auto names = names_of(class_folders(has_split(path) ? path / "train" : path));
  if (names.size() < 2) {
    throw Error(
        "not a folder of pictures by class",
        {path.string(), fmt::format("{} folders in it", names.size()),
         "expected train/CLASS/*.png and test/CLASS/*.png, or CLASS/*.png, with two classes or more"});
  }
  return names;
}

int64_t count_training_pictures(const fs::path& path) {
  const bool is_split = has_split(path);
  int64_t count = 0;
  for (const fs::path& folder : class_folders(is_split ? path / "train" : path)) {
    const size_t found = pictures(folder).size();
    for (size_t i = 0; i < found; ++i) count += is_split || !is_for_testing(i) ? 1 : 0;
  }
  return count;
}

Dataset load_image_folder(const fs::path& path) {
  Dataset dataset;
  dataset.class_names = image_folder_classes(path);
  ImageBytes train = empty_images();
  ImageBytes test = empty_images();
  if (has_split(path)) {
    const auto test_classes = names_of(class_folders(path / "test"));
    if (test_classes != dataset.class_names) {
      throw Error("training and test pictures have different classes",
                  {(path / "test").string(), join(test_classes, ", "),
                   fmt::format("expected {}", join(dataset.class_names, ", "))});
    }
    train = read_classes(class_folders(path / "train"));
    test = read_classes(class_folders(path / "test"));
  } else {
    for (int64_t c = 0; c < dataset.classes(); ++c) {
      const auto found = pictures(path / dataset.class_names[c]);
      for (size_t i = 0; i < found.size(); ++i) append(found[i], c, is_for_testing(i) ? test : train);
    }
  }
  if (test.size() == 0 || train.size() == 0) {
    throw Error("no pictures are left for testing",
                {path.string(), fmt::format("{} pictures", train.size() + test.size()),
                 "give five pictures a class or more, or folders train and test"});
  }
  dataset.train = to_image_set(std::move(train));
  dataset.test = to_image_set(std::move(test));
  return dataset;
}

}  // namespace batchplus
