// Vectors of floats for files that Highway compiles once for each instruction set (foreach_target.h). Such a
// file is compiled without floating-point contraction and fuses products and sums by mul_add alone. No sum
// runs over the lanes of a vector but by sum_lanes of sixteen. So its numbers do not depend on the lanes.

#if defined(BATCHPLUS_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHPLUS_KERNELS_SIMD_INL_H
#undef BATCHPLUS_KERNELS_SIMD_INL_H
#else
#define BATCHPLUS_KERNELS_SIMD_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace simd {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

/// Floats of a vector.
constexpr int64_t kLanes = HWY_LANES(float);
/// What sizes are rounded to where the instruction set must not matter: the most lanes of any.
constexpr int64_t kMostLanes = 16;

HWY_INLINE Vector zero() {
  return hn::Zero(Tag());
}
HWY_INLINE Vector set(float value) {
  return hn::Set(Tag(), value);
}

/// A whole vector, or its first `count` floats and zeros.
template <bool kIsFull>
HWY_INLINE Vector load(const float* p, int64_t count) {
  if constexpr (kIsFull) return hn::LoadU(Tag(), p);
  return hn::MaskedLoad(hn::FirstN(Tag(), static_cast<size_t>(count)), Tag(), p);
}
HWY_INLINE Vector load(const float* p) {
  return hn::LoadU(Tag(), p);
}

HWY_INLINE void store(float* p, Vector v) {
  hn::StoreU(v, Tag(), p);
}
template <bool kIsFull>
HWY_INLINE void store(float* p, Vector v, int64_t count) {
  if constexpr (kIsFull) {
    store(p, v);
  } else if constexpr (kLanes == 16) {
    hn::BlendedStore(v, hn::FirstN(Tag(), static_cast<size_t>(count)), Tag(), p);
  } else {
    // AVX2's masked store takes many cycles on some processors.
    HWY_ALIGN float lanes[kLanes];
    hn::Store(v, Tag(), lanes);
    for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
  }
}

/// a * b + c, rounded once.
HWY_INLINE Vector mul_add(Vector a, Vector b, Vector c) {
  return hn::MulAdd(a, b, c);
}
HWY_INLINE Vector mul_add(Vector a, float b, Vector c) {
  return hn::MulAdd(a, set(b), c);
}
/// c - a * b, rounded once.
HWY_INLINE Vector neg_mul_add(Vector a, float b, Vector c) {
  return hn::NegMulAdd(a, set(b), c);
}

/// max(0, v). The operands' order matters: what is not a number stays so.
HWY_INLINE Vector relu(Vector v) {
  return hn::Max(zero(), v);
}

/// v where `mask` > 0, otherwise zero.
HWY_INLINE Vector where_positive(Vector mask, Vector v) {
  return hn::IfThenElseZero(hn::Gt(mask, zero()), v);
}

/// Runs body(c, count, is_full) for each vector of `channels` channels; is_full is a constant: whether count
/// is kLanes.
template <class Body>
HWY_INLINE void for_vectors(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(c, kLanes, std::true_type{});
  if (c < channels) body(c, channels - c, std::false_type{});
}

/// Sixteen floats, in one vector or several.
struct Sixteen {
  static constexpr int kVectors = static_cast<int>(kMostLanes / kLanes);
  Vector parts[kVectors];
};

HWY_INLINE Sixteen zero_sixteen() {
  Sixteen v;
#pragma GCC unroll 4
  for (Vector& part : v.parts) part = zero();
  return v;
}

template <bool kIsFull>
HWY_INLINE Sixteen load_sixteen(const float* p, int64_t count) {
  Sixteen v;
#pragma GCC unroll 4
  for (int i = 0; i < Sixteen::kVectors; ++i) {
    const int64_t begin = i * kLanes;
    if constexpr (kIsFull) {
      v.parts[i] = load(p + begin);
    } else {
      v.parts[i] = count > begin ? load<false>(p + begin, HWY_MIN(count - begin, kLanes)) : zero();
    }
  }
  return v;
}

HWY_INLINE Sixteen mul_add(const Sixteen& a, const Sixteen& b, const Sixteen& c) {
  Sixteen v;
#pragma GCC unroll 4
  for (int i = 0; i < Sixteen::kVectors; ++i) v.parts[i] = mul_add(a.parts[i], b.parts[i], c.parts[i]);
  return v;
}

/// Eight floats whatever the lanes of a vector: for transposing blocks of 8x8.
using Eight = hn::FixedTag<float, 8>;
using EightFloats = hn::Vec<Eight>;

/// Halves are added until one number is left: lane i and i + 4, then i and i + 2, then both.
HWY_INLINE float sum_eight(EightFloats v) {
  const hn::FixedTag<float, 4> four;
  HWY_ALIGN float lanes[4];
  hn::Store(hn::LowerHalf(four, v) + hn::UpperHalf(four, v), four, lanes);
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// The same from lane i and i + 8 on.
HWY_INLINE float sum_lanes(const Sixteen& v) {
#if HWY_MAX_BYTES == 64
  return sum_eight(hn::LowerHalf(Eight(), v.parts[0]) + hn::UpperHalf(Eight(), v.parts[0]));
#else
  return sum_eight(v.parts[0] + v.parts[1]);
#endif
}

/// rows[i][j] becomes rows[j][i].
HWY_INLINE void transpose(EightFloats (&rows)[8]) {
  const Eight d;
  const hn::RepartitionToWide<hn::RebindToUnsigned<Eight>> wide;
  EightFloats pairs[8];
  EightFloats fours[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = hn::InterleaveLower(d, rows[i], rows[i + 1]);
    pairs[i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const auto first = hn::BitCast(wide, pairs[i + j]);
      const auto second = hn::BitCast(wide, pairs[i + j + 2]);
      fours[i + 2 * j] = hn::BitCast(d, hn::InterleaveLower(wide, first, second));
      fours[i + 2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(wide, first, second));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = hn::ConcatLowerLower(d, fours[i + 4], fours[i]);
    rows[i + 4] = hn::ConcatUpperUpper(d, fours[i + 4], fours[i]);
  }
}

}  // namespace simd
}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#endif  // BATCHPLUS_KERNELS_SIMD_INL_H
