#include "data/augmentation.h"

#include <cstring>
#include <vector>

#include "core/random_stream.h"
#include "kernels/for_this_cpu.h"

namespace batchplus {
namespace {

/// The bytes of a row are moved all at once: those that come from outside the image are masked away. A width
/// known to the compiler makes each row a few vector instructions.
template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_row(const uint8_t* __restrict in, const uint8_t* __restrict mask,
                                            bool is_mirrored, uint8_t* __restrict out, int64_t width) {
  const int64_t count = kWidth > 0 ? kWidth : width;
  if (is_mirrored) {
    for (int64_t x = 0; x < count; ++x) out[x] = in[count - 1 - x] & mask[count - 1 - x];
  } else {
    for (int64_t x = 0; x < count; ++x) out[x] = in[x] & mask[x];
  }
}

/// `in` may be read kPadding bytes before and behind.
template <int64_t kWidth>
void copy_planes(const uint8_t* in, const Augmentation& how, int64_t planes, int64_t height, int64_t width,
                 const uint8_t* mask, uint8_t* out) {
  kernels::for_this_cpu([&]() __attribute__((always_inline)) {
    for (int64_t plane = 0; plane < planes; ++plane, in += height * width) {
      for (int64_t y = how.dy; y < height + how.dy; ++y, out += width) {
        if (y < 0 || y >= height) {
          std::memset(out, 0, static_cast<size_t>(width));
        } else {
          copy_row<kWidth>(in + y * width + how.dx, mask, how.is_mirrored, out, width);
        }
      }
    }
  });
}

}  // namespace

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
  thread_local std::vector<uint8_t> padded;
  thread_local std::vector<uint8_t> mask;
  const auto bytes = static_cast<size_t>(planes * height * width);
  padded.resize(bytes + 2 * Augmentation::kPadding);
  std::memcpy(padded.data() + Augmentation::kPadding, in, bytes);
  mask.resize(static_cast<size_t>(width));
  for (int64_t x = 0; x < width; ++x) mask[x] = x + how.dx >= 0 && x + how.dx < width ? 0xff : 0;
  const auto copy = width == 32 ? copy_planes<32> : width == 28 ? copy_planes<28> : copy_planes<0>;
  copy(padded.data() + Augmentation::kPadding, how, planes, height, width, mask.data(), out);
}

}  // namespace batchplus
