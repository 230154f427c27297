#include "data/dataset.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>

namespace batchplus {
namespace {

/// A tensor that keeps the vector alive.
template <class Element>
torch::Tensor adopt(std::vector<Element> values, at::IntArrayRef shape, torch::ScalarType type) {
  auto owner = std::make_shared<std::vector<Element>>(std::move(values));
  return torch::from_blob(
      owner->data(), shape, [owner](void*) {}, type);
}

}  // namespace

ImageSet to_image_set(ImageBytes bytes) {
  const int64_t n = bytes.size();
  return {adopt(std::move(bytes.pixels), {n, bytes.channels, bytes.height, bytes.width}, torch::kUInt8),
          adopt(std::move(bytes.labels), {n}, torch::kInt64)};
}

Normalization measure_normalization(const ImageSet& set) {
  Normalization measured;
  const torch::Tensor values = torch::arange(256, torch::kFloat64) / 255;
  for (int64_t c = 0; c < set.images.size(1); ++c) {
    // There are 256 different pixels: a histogram holds all that the moments need.
    const torch::Tensor counts = at::bincount(set.images.select(1, c).flatten(), {}, 256).to(torch::kFloat64);
    const double n = counts.sum().item<double>();
    const double mean = (counts * values).sum().item<double>() / n;
    const double variance = (counts * (values - mean).square()).sum().item<double>() / n;
    measured.mean.push_back(mean);
    // A channel without contrast stays as it is.
    measured.std.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
  return measured;
}

}  // namespace batchplus
