#pragma once

#include <cstdint>

namespace batchplus {

/// The pixels of an image that cutout masks (DeVries and Taylor 2017): a square around a pixel drawn evenly
/// from all of the image, as far as it lies within. Rows [top, bottom), columns [left, right).
struct Cutout {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
};

/// Of a square of `side` pixels a side in an image of height x width. Depends on (seed, epoch, sample) alone.
Cutout draw_cutout(uint64_t seed, uint64_t epoch, int64_t sample, int64_t side, int64_t height,
                   int64_t width);

/// Zeros there, in an image of channels planes of height x width, or of height x width pixels of channels.
void cut_planes(const Cutout& where, int64_t channels, int64_t height, int64_t width, float* image);
void cut_channels_last(const Cutout& where, int64_t channels, int64_t width, float* image);

}  // namespace batchplus
