#include "data/image_transform.h"

#include <algorithm>

#include "core/random_stream.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kPadding = 4;

struct Augmentation {
  bool is_mirrored = false;
  /// Where the crop begins, relative to the image.
  int64_t dy = 0;
  int64_t dx = 0;
};

Augmentation draw_augmentation(uint64_t seed, uint64_t epoch, int64_t sample) {
  RandomStream stream(seed, RandomPurpose::kAugmentation, epoch, static_cast<uint64_t>(sample));
  Augmentation drawn;
  drawn.is_mirrored = stream.next_u32() >> 31 != 0;
  drawn.dy = static_cast<int64_t>(stream.next_below(2 * kPadding + 1)) - kPadding;
  drawn.dx = static_cast<int64_t>(stream.next_below(2 * kPadding + 1)) - kPadding;
  return drawn;
}

/// One plane: out[y][x] = scale * in[y + dy][x + dx] + shift, mirrored if asked; zeros outside the image.
void transform_plane(const uint8_t* __restrict in, float scale, float shift, const Augmentation& how,
                     int64_t height, int64_t width, float* __restrict out) {
  const int64_t first = std::max<int64_t>(0, -how.dx);
  const int64_t last = std::min(width, width - how.dx);
  for (int64_t y = 0; y < height; ++y, out += width) {
    const int64_t source_y = y + how.dy;
    if (source_y < 0 || source_y >= height) {
      std::fill_n(out, width, shift);
      continue;
    }
    const uint8_t* row = in + source_y * width + how.dx;
    std::fill(out, out + first, shift);
    std::fill(out + last, out + width, shift);
    for (int64_t x = first; x < last; ++x) out[x] = scale * static_cast<float>(row[x]) + shift;
    if (how.is_mirrored) std::reverse(out, out + width);
  }
}

}  // namespace

ImageTransform::ImageTransform(const Normalization& normalization, bool is_augmenting)
    : is_augmenting_(is_augmenting) {
  for (size_t c = 0; c < normalization.mean.size(); ++c) {
    scale_.push_back(static_cast<float>(1 / (255 * normalization.std[c])));
    shift_.push_back(static_cast<float>(-normalization.mean[c] / normalization.std[c]));
  }
}

void ImageTransform::apply(const ImageSet& set, std::span<const int64_t> indices, uint64_t seed,
                           uint64_t epoch, const torch::Tensor& out) const {
  const int64_t channels = set.images.size(1);
  const int64_t height = set.images.size(2);
  const int64_t width = set.images.size(3);
  const int64_t plane = height * width;
  BATCHPLUS_CHECK(static_cast<int64_t>(scale_.size()) == channels, "one mean and std for each channel");
  BATCHPLUS_CHECK(out.is_contiguous() && out.size(0) == static_cast<int64_t>(indices.size()),
                  "the output has room for the samples");
  const auto* source = set.images.data_ptr<uint8_t>();
  auto* target = out.data_ptr<float>();
  at::parallel_for(0, static_cast<int64_t>(indices.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Augmentation how = is_augmenting_ ? draw_augmentation(seed, epoch, indices[i]) : Augmentation{};
      for (int64_t c = 0; c < channels; ++c) {
        transform_plane(source + (indices[i] * channels + c) * plane, scale_[c], shift_[c], how, height,
                        width, target + (i * channels + c) * plane);
      }
    }
  });
}

}  // namespace batchplus
