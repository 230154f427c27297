#include "kernels/pooling.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/trace.h"

#include "kernels/simd.h"

namespace batchplus::kernels {
namespace {

using simd::Vector;

template <bool kIsFull>
[[gnu::always_inline]] inline void store_places(uint8_t* to, __m256i places, int64_t count) {
  alignas(32) int32_t lanes[simd::kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), places);
  for (int64_t i = 0; i < (kIsFull ? simd::kLanes : count); ++i) to[i] = static_cast<uint8_t>(lanes[i]);
}

/// x and y, or their gradients, and a byte for each y; a comparison for each x.
KernelWork work_of(const ConstMaps& x, const ConstMaps& y, const char* format) {
  const auto values = static_cast<double>(x.values());
  const auto outputs = static_cast<double>(y.values());
  return {describe(format, {x.channels, x.height, x.width}), values, values + outputs + outputs / 4};
}

}  // namespace

void max_pool_forward(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places) {
  const TracedCall traced([&] { return work_of(x, y, "max pool {}, {}x{}, forward"); });
  at::parallel_for(0, y.samples * y.height, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t sample = row / y.height;
      for (int64_t column = 0; column < y.width; ++column) {
        const float* corner = x.pixel(sample, row % y.height * side, column * side);
        const int64_t pixel = row * y.width + column;
        simd::for_vectors(
            y.channels, [&](int64_t c, int64_t count, auto full) __attribute__((always_inline)) {
              constexpr bool kIsFull = decltype(full)::value;
              Vector best = simd::load<kIsFull>(corner + c, count);
              __m256i place = _mm256_setzero_si256();
              for (int64_t k = 1; k < side * side; ++k) {
                const Vector v =
                    simd::load<kIsFull>(corner + (k / side * x.width + k % side) * x.stride + c, count);
                // A number that is none wins and stays, as in PyTorch.
                const Vector wins =
                    _mm256_or_ps(_mm256_cmp_ps(v, best, _CMP_GT_OQ), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
                best = _mm256_blendv_ps(best, v, wins);
                place = _mm256_blendv_epi8(place, _mm256_set1_epi32(static_cast<int>(k)),
                                           _mm256_castps_si256(wins));
              }
              simd::store<kIsFull>(y.data + pixel * y.stride + c, best, count);
              store_places<kIsFull>(places + pixel * y.channels + c, place, count);
            });
      }
    }
  });
}

void max_pool_backward(const ConstMaps& g, int64_t side, const uint8_t* places, const Maps& dx) {
  const TracedCall traced([&] { return work_of(dx, g, "max pool {}, {}x{}, backward"); });
  // Rows and columns that no window covers get zero.
  const bool is_covered = dx.height == g.height * side && dx.width == g.width * side;
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      if (!is_covered) std::fill_n(dx.sample(sample), dx.pixels() * dx.stride, 0.0F);
      for (int64_t i = 0; i < g.pixels(); ++i) {
        const float* from = g.sample(sample) + i * g.stride;
        const uint8_t* place = places + (sample * g.pixels() + i) * g.channels;
        float* corner = dx.pixel(sample, i / g.width * side, i % g.width * side);
        for (int64_t k = 0; k < side * side; ++k) {
          float* to = corner + (k / side * dx.width + k % side) * dx.stride;
          for (int64_t c = 0; c < g.channels; ++c) to[c] = place[c] == k ? from[c] : 0.0F;
        }
      }
    }
  });
}

}  // namespace batchplus::kernels
