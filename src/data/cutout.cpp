#include "data/cutout.h"

#include <algorithm>

#include "core/random_stream.h"

namespace batchplus {

Cutout draw_cutout(uint64_t seed, uint64_t epoch, int64_t sample, int64_t side, int64_t height,
                   int64_t width) {
  RandomStream stream(seed, RandomPurpose::kCutout, epoch, static_cast<uint64_t>(sample));
  const int64_t top = static_cast<int64_t>(stream.next_below(static_cast<uint32_t>(height))) - side / 2;
  const int64_t left = static_cast<int64_t>(stream.next_below(static_cast<uint32_t>(width))) - side / 2;
  return {.top = std::max<int64_t>(top, 0),
          .bottom = std::min(top + side, height),
          .left = std::max<int64_t>(left, 0),
          .right = std::min(left + side, width)};
}

void cut_planes(const Cutout& where, int64_t channels, int64_t height, int64_t width, float* image) {
  for (int64_t c = 0; c < channels; ++c, image += height * width) {
    for (int64_t y = where.top; y < where.bottom; ++y) {
      std::fill(image + y * width + where.left, image + y * width + where.right, 0.0F);
    }
  }
}

void cut_channels_last(const Cutout& where, int64_t channels, int64_t width, float* image) {
  for (int64_t y = where.top; y < where.bottom; ++y) {
    std::fill(image + (y * width + where.left) * channels, image + (y * width + where.right) * channels,
              0.0F);
  }
}

}  // namespace batchplus
