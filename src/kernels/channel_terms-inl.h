// Two sums over pixels for each channel, in double.

#if defined(BATCHPLUS_KERNELS_CHANNEL_TERMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHPLUS_KERNELS_CHANNEL_TERMS_INL_H
#undef BATCHPLUS_KERNELS_CHANNEL_TERMS_INL_H
#else
#define BATCHPLUS_KERNELS_CHANNEL_TERMS_INL_H
#endif

#include <algorithm>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {

using simd::kLanes;

/// Pixels whose sums are taken in float before they are added in double.
constexpr int64_t kChunk = 64;
/// Vectors of channels that are summed together: a line of the cache or two.
constexpr int kGroup = 4;

/// Adds up two vectors a pixel for the channels c.. of kVectors vectors: terms(pixel, vector) gives them.
template <int kVectors, class Terms>
HWY_INLINE void add_terms(int64_t begin, int64_t end, int64_t c, int64_t channels, const Terms& terms,
                          double* sums) {
  simd::Vector first[kVectors];
  simd::Vector second[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) first[v] = second[v] = simd::zero();
  for (int64_t i = begin; i < end; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) terms(i, c + v * kLanes, first[v], second[v]);
  }
  HWY_ALIGN float lanes[2][kLanes];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    simd::store(lanes[0], first[v]);
    simd::store(lanes[1], second[v]);
    const int64_t begin_channel = c + v * kLanes;
    const int64_t count = std::min(kLanes, channels - begin_channel);
    for (int64_t i = 0; i < count; ++i) {
      sums[begin_channel + i] += static_cast<double>(lanes[0][i]);
      sums[channels + begin_channel + i] += static_cast<double>(lanes[1][i]);
    }
  }
}

/// Adds to sums: [2][channels] the terms of the pixels from `begin` to `end`: terms(pixel, channel, count,
/// is_full, first, second) adds those of a pixel.
template <class Terms>
void add_pixels(int64_t begin, int64_t end, int64_t channels, const Terms& terms, double* sums) {
  const auto full = [&](int64_t i, int64_t c, simd::Vector& first, simd::Vector& second)
                        HWY_ATTR { terms(i, c, kLanes, std::true_type{}, first, second); };
  for (int64_t i = begin; i < end; i += kChunk) {
    const int64_t last = std::min(i + kChunk, end);
    int64_t c = 0;
    for (; c + kGroup * kLanes <= channels; c += kGroup * kLanes)
      add_terms<kGroup>(i, last, c, channels, full, sums);
    for (; c + 2 * kLanes <= channels; c += 2 * kLanes) add_terms<2>(i, last, c, channels, full, sums);
    for (; c + kLanes <= channels; c += kLanes) add_terms<1>(i, last, c, channels, full, sums);
    if (c == channels) continue;
    const int64_t count = channels - c;
    const auto partial = [&](int64_t j, int64_t, simd::Vector& first, simd::Vector& second)
                             HWY_ATTR { terms(j, c, count, std::false_type{}, first, second); };
    add_terms<1>(i, last, c, channels, partial, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#endif  // BATCHPLUS_KERNELS_CHANNEL_TERMS_INL_H
