#pragma once

#include <cstdint>

namespace batchplus {

/// What is done to a training image: a crop of the image padded by 4 zero pixels on each side, mirrored with
/// probability 1/2.
struct Augmentation {
  static constexpr int64_t kPadding = 4;

  bool is_mirrored = false;
  /// Where the crop begins, relative to the image: -kPadding .. kPadding.
  int64_t dy = 0;
  int64_t dx = 0;
};

/// Depends on (seed, epoch, sample) alone: neither on threads nor on the batch that the sample is in.
Augmentation draw_augmentation(uint64_t seed, uint64_t epoch, int64_t sample);

/// `planes` images of height x width: out[y][x] = in[y + dy][x + dx], zero outside the image; then mirrored.
void augment_planes(const uint8_t* in, const Augmentation& how, int64_t planes, int64_t height, int64_t width,
                    uint8_t* out);

}  // namespace batchplus
