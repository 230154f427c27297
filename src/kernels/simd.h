#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

// Eight floats at a time. For files that are compiled for AVX2 from here on: they include this header last,
// and their functions run only where are_available() says so (kernels/processor.h).
#pragma GCC target("avx2,fma")

namespace batchplus::kernels::simd {

constexpr int64_t kLanes = 8;

using Vector = __m256;

[[gnu::always_inline]] inline __m256i first_lanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Eight floats, or the first `count` of them and zeros.
template <bool kIsFull>
[[gnu::always_inline]] inline Vector load(const float* p, int64_t count) {
  if constexpr (kIsFull) return _mm256_loadu_ps(p);
  return _mm256_maskload_ps(p, first_lanes(count));
}

template <bool kIsFull>
[[gnu::always_inline]] inline void store(float* p, Vector v, int64_t count) {
  if constexpr (kIsFull) {
    _mm256_storeu_ps(p, v);
    return;
  }
  // A masked store takes many cycles on some processors.
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, v);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}

/// max(0, v). The operands' order matters: what is not a number stays so.
[[gnu::always_inline]] inline Vector relu(Vector v) {
  return _mm256_max_ps(_mm256_setzero_ps(), v);
}

/// The sum of the eight.
[[gnu::always_inline]] inline float sum_lanes(Vector v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// Runs body(c, count, is_full) for each vector of `channels` channels; is_full is a constant: whether count
/// is 8.
template <class Body>
[[gnu::always_inline]] inline void for_vectors(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(c, kLanes, std::true_type{});
  if (c < channels) body(c, channels - c, std::false_type{});
}

/// rows[i][j] becomes rows[j][i].
[[gnu::always_inline]] inline void transpose(Vector (&rows)[8]) {
  Vector pairs[8];
  Vector fours[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

}  // namespace batchplus::kernels::simd
