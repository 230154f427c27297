#include "data/load_pictures.h"

#include <ATen/ATen.h>
#include <torch/nn/functional/upsampling.h>

#include "datasets/picture_folder.h"
#include "formats/png_image.h"
#include "util/file.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kPictureSide = 32;
constexpr int64_t kPixelBytes = 3 * kPictureSide * kPictureSide;

/// [3,32,32], uint8.
torch::Tensor read_picture(const fs::path& path) {
  RgbImage image = decode_png(read_file(path), path.string());
  const torch::Tensor pixels =
      torch::from_blob(image.pixels.data(), {image.height, image.width, 3}, torch::kUInt8).permute({2, 0, 1});
  if (image.height == kPictureSide && image.width == kPictureSide) return pixels.contiguous();
  namespace F = torch::nn::functional;
  const torch::Tensor resized = F::interpolate(pixels.unsqueeze(0).to(torch::kFloat32),
                                               F::InterpolateFuncOptions()
                                                   .size(std::vector<int64_t>{kPictureSide, kPictureSide})
                                                   .mode(torch::kBilinear)
                                                   .align_corners(false)
                                                   .antialias(true));
  return resized.round().clamp(0, 255).to(torch::kUInt8).squeeze(0).contiguous();
}

ImageSet read_pictures(const std::vector<LabelledPicture>& pictures) {
  ImageBytes images{3, kPictureSide, kPictureSide, {}, {}};
  for (const LabelledPicture& picture : pictures) {
    const torch::Tensor pixels = read_picture(picture.path);
    const auto* bytes = pixels.data_ptr<uint8_t>();
    images.pixels.insert(images.pixels.end(), bytes, bytes + kPixelBytes);
    images.labels.push_back(picture.label);
  }
  return to_image_set(std::move(images));
}

}  // namespace

Dataset load_pictures(const fs::path& path) {
  PictureFolder folder = list_pictures(path);
  Dataset dataset;
  dataset.train = read_pictures(folder.train);
  dataset.test = read_pictures(folder.test);
  dataset.class_names = std::move(folder.class_names);
  return dataset;
}

}  // namespace batchplus
