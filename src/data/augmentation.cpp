#include "data/augmentation.h"

#include <algorithm>
#include <cstring>

#include "core/cpu_dispatch.h"
#include "core/random_stream.h"

namespace batchplus {

Augmentation draw_augmentation(uint64_t seed, uint64_t epoch, int64_t sample) {
  constexpr uint32_t kOffsets = 2 * Augmentation::kPadding + 1;
  RandomStream stream(seed, RandomPurpose::kAugmentation, epoch, static_cast<uint64_t>(sample));
  Augmentation drawn;
  drawn.is_mirrored = stream.next_u32() >> 31 != 0;
  drawn.dy = static_cast<int64_t>(stream.next_below(kOffsets)) - Augmentation::kPadding;
  drawn.dx = static_cast<int64_t>(stream.next_below(kOffsets)) - Augmentation::kPadding;
  return drawn;
}

void augment_planes(const uint8_t* in, const Augmentation& how, int64_t planes, int64_t height, int64_t width,
                    uint8_t* out) {
  const int64_t first = std::max<int64_t>(0, -how.dx);
  const int64_t last = std::min(width, width - how.dx);
  // Mirroring the row turns out[first .. last) around and swaps the two margins.
  const int64_t begin = how.is_mirrored ? width - last : first;
  for_this_cpu([&]() __attribute__((always_inline)) {
    for (int64_t row = 0; row < planes * height; ++row) {
      uint8_t* __restrict target = out + row * width;
      const int64_t y = row % height + how.dy;
      std::memset(target, 0, static_cast<size_t>(width));
      if (y < 0 || y >= height) continue;
      const uint8_t* __restrict source = in + (row + how.dy) * width + how.dx;
      if (how.is_mirrored) {
        for (int64_t x = 0; x < last - first; ++x) target[begin + x] = source[last - 1 - x];
      } else {
        std::memcpy(target + begin, source + first, static_cast<size_t>(last - first));
      }
    }
  });
}

}  // namespace batchplus
