// The filters' side of Winograd's convolution. Blocks of eight input channels, whatever the instruction set:
// they are transposed.

#if defined(BATCHPLUS_KERNELS_WINOGRAD_FILTERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHPLUS_KERNELS_WINOGRAD_FILTERS_INL_H
#undef BATCHPLUS_KERNELS_WINOGRAD_FILTERS_INL_H
#else
#define BATCHPLUS_KERNELS_WINOGRAD_FILTERS_INL_H
#endif

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/maps.h"
#include "kernels/parts.h"
#include "kernels/product.h"
#include "kernels/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {

using simd::EightFloats;
constexpr int64_t kEight = 8;

/// Filters that a thread transforms at least.
HWY_INLINE int64_t filter_grain(int64_t in, int64_t points) {
  return 1 + 16384 / (in * points);
}

/// A tap of up to eight input channels of filter k, and zeros.
HWY_INLINE EightFloats load_tap(const ConstFilters& w, int64_t k, int64_t c, int64_t count, int tap) {
  const float* from = w.at(k, c, tap);
  if (w.in_stride == 1 && count == kEight) return simd::hn::LoadU(simd::Eight(), from);
  HWY_ALIGN float lanes[kEight] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i * w.in_stride];
  return simd::hn::Load(simd::Eight(), lanes);
}

HWY_INLINE void store_tap(const Filters& w, int64_t k, int64_t c, int64_t count, int tap, EightFloats value) {
  float* to = w.at(k, c, tap);
  if (w.in_stride == 1 && count == kEight) return simd::hn::StoreU(value, simd::Eight(), to);
  HWY_ALIGN float lanes[kEight];
  simd::hn::Store(value, simd::Eight(), lanes);
  for (int64_t i = 0; i < count; ++i) to[i * w.in_stride] = lanes[i];
}

/// part 0 + ... + part kParts - 1, as add_parts adds (parts.h); parts are `stride` floats apart.
template <int kParts>
HWY_INLINE EightFloats load_parts(const float* from, int64_t stride) {
  if constexpr (kParts == 1) {
    return simd::hn::LoadU(simd::Eight(), from);
  } else {
    return load_parts<kParts / 2>(from, stride) + load_parts<kParts / 2>(from + kParts / 2 * stride, stride);
  }
}

template <int kTile>
class FilterTransforms {
 public:
  static constexpr int kSide = kTile + 2;
  static constexpr int kPoints = kSide * kSide;
  using Filtering = simd::Filtering<kTile>;
  static constexpr auto kFilters = [](const auto& w, auto& u) HWY_ATTR { Filtering::filters(w, u); };

  /// u: for each point the panels of [in][out rounded up].
  static void transform(const ConstFilters& w, const PanelLayout& layout, float* u) {
    const int64_t grain = filter_grain(w.in, kPoints) / kEight + 1;
    at::parallel_for(0, layout.columns / kEight, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
      alignas(64) float block[kPoints][kEight][kEight];
      for (int64_t k0 = begin * kEight; k0 < end * kEight; k0 += kEight) {
        for (int64_t c = 0; c < w.in; c += kEight) {
          const int64_t count = std::min(kEight, w.in - c);
          for (int64_t k = 0; k < kEight; ++k) {
            simd::transform_square<3, kSide, EightFloats>(
                kFilters,
                [&](int i, int j) HWY_ATTR {
                  return k0 + k < w.out ? load_tap(w, k0 + k, c, count, i * 3 + j)
                                        : simd::hn::Zero(simd::Eight());
                },
                [&](int i, int j, EightFloats value)
                    HWY_ATTR { simd::hn::Store(value, simd::Eight(), block[i * kSide + j][k]); });
          }
          for (int p = 0; p < kPoints; ++p) {
            EightFloats rows[kEight];
#pragma GCC unroll 8
            for (int k = 0; k < kEight; ++k) rows[k] = simd::hn::Load(simd::Eight(), block[p][k]);
            simd::transpose(rows);
            float* to = u + p * layout.floats();
            for (int64_t i = 0; i < count; ++i)
              simd::hn::StoreU(rows[i], simd::Eight(), to + layout.offset(c + i, k0));
          }
        }
      }
    });
  }

  /// u: for each point the panels of [out][in rounded up], for the gradient of the inputs.
  static void transform_transposed(const ConstFilters& w, const PanelLayout& layout, float* u) {
    at::parallel_for(0, w.out, filter_grain(w.in, kPoints), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t c = 0; c < layout.columns; c += kEight) {
          const int64_t count = std::clamp<int64_t>(w.in - c, 0, kEight);
          float* to = u + layout.offset(k, c);
          simd::transform_square<3, kSide, EightFloats>(
              kFilters, [&](int i, int j) HWY_ATTR { return load_tap(w, k, c, count, i * 3 + j); },
              [&](int i, int j, EightFloats value) HWY_ATTR {
                simd::hn::StoreU(value, simd::Eight(), to + (i * kSide + j) * layout.floats());
              });
        }
      }
    });
  }

  /// G^T u G: the filters' gradients from those of the points, [parts][points][out][in rounded up].
  static void transform_back(const float* sums, int64_t parts, int64_t in, const Filters& gradient) {
    switch (parts) {
      case 1: return transform_back<1>(sums, in, gradient);
      case 2: return transform_back<2>(sums, in, gradient);
      case 4: return transform_back<4>(sums, in, gradient);
      case 8: return transform_back<8>(sums, in, gradient);
      default: return transform_back<16>(sums, in, gradient);
    }
  }

 private:
  template <int kParts>
  static void transform_back(const float* sums, int64_t in, const Filters& gradient) {
    const int64_t point_stride = gradient.out * in;
    const int64_t part_stride = kPoints * point_stride;
    const int64_t grain = 1 + filter_grain(gradient.in, kPoints) / kParts;
    at::parallel_for(0, gradient.out, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t c = 0; c < gradient.in; c += kEight) {
          const int64_t count = std::min(kEight, gradient.in - c);
          const float* from = sums + k * in + c;
          simd::transform_square<kSide, 3, EightFloats>(
              [](const auto& u, auto& w) HWY_ATTR { Filtering::filters_transposed(u, w); },
              [&](int i, int j)
                  HWY_ATTR { return load_parts<kParts>(from + (i * kSide + j) * point_stride, part_stride); },
              [&](int i, int j, EightFloats value)
                  HWY_ATTR { store_tap(gradient, k, c, count, i * 3 + j, value); });
        }
      }
    });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#endif  // BATCHPLUS_KERNELS_WINOGRAD_FILTERS_INL_H
