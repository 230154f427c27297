#include "kernels/dual_batch_norm.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/scratch.h"
#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dual_batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/channel_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::Vector;

thread_local Scratch sum_scratch;

template <bool kIsFull, class Float>
HWY_INLINE Vector load_from(const MapsOf<Float>& maps, int64_t pixel, int64_t c, int64_t count) {
  return simd::load<kIsFull>(maps.data + pixel * maps.stride + c, count);
}
template <bool kIsFull>
HWY_INLINE void store_to(const Maps& maps, int64_t pixel, int64_t c, Vector v, int64_t count) {
  simd::store<kIsFull>(maps.data + pixel * maps.stride + c, v, count);
}

template <bool kHasAddend, bool kIsRelu>
void run_forward(const ConstDualMaps& x, const DualScaleShift& by, const DualMaps& y) {
  const int64_t channels = x.value.channels;
  constexpr int64_t kFloats = 32768;
  at::parallel_for(
      0, x.value.all_pixels(), std::max<int64_t>(1, kFloats / channels), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          simd::for_vectors(channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
            constexpr bool kIsFull = decltype(full)::value;
            const auto of = [&](const float* p) HWY_ATTR { return simd::load<kIsFull>(p + c, count); };
            const Vector v = load_from<kIsFull>(x.value, i, c, count);
            Vector value = simd::mul_add(v, of(by.scale), of(by.shift));
            Vector tangent = simd::mul_add(load_from<kIsFull>(x.tangent, i, c, count), of(by.scale),
                                           simd::mul_add(v, of(by.scale_tangent), of(by.shift_tangent)));
            if constexpr (kHasAddend) {
              value = value + load_from<kIsFull>(by.addend.value, i, c, count);
              tangent = tangent + load_from<kIsFull>(by.addend.tangent, i, c, count);
            }
            if constexpr (kIsRelu) {
              tangent = simd::where_positive(value, tangent);
              value = simd::relu(value);
            }
            store_to<kIsFull>(y.value, i, c, value, count);
            store_to<kIsFull>(y.tangent, i, c, tangent, count);
          });
        }
      });
}

/// The samples' gradients from sums over their pixels: [2][channels], g and g (x - mean) + g' x'.
void write_sample(const DualBatchNormBackward& p, int64_t n, const double* sums) {
  const int64_t channels = p.x.value.channels;
  for (int64_t c = 0; c < channels; ++c) {
    p.sample_biases[n * channels + c] = static_cast<float>(sums[c]);
    p.sample_weights[n * channels + c] =
        static_cast<float>(sums[channels + c] * static_cast<double>(p.inverse_std[c]));
  }
}

template <ReluMask kMask>
void run_backward(const DualBatchNormBackward& p) {
  const int64_t channels = p.x.value.channels;
  const int64_t pixels = p.x.value.pixels();
  const bool has_addend = p.addend_gradient.value.data != nullptr;
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first,
                         Vector& second) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const auto of = [&](const float* values) HWY_ATTR { return simd::load<kIsFull>(values + c, count); };
    const Vector x = load_from<kIsFull>(p.x.value, i, c, count);
    const Vector scale = of(p.scale);
    Vector g = load_from<kIsFull>(p.y_gradient.value, i, c, count);
    Vector g_tangent = load_from<kIsFull>(p.y_gradient.tangent, i, c, count);
    if constexpr (kMask != ReluMask::kNone) {
      const Vector y = kMask == ReluMask::kFromInput ? simd::mul_add(x, scale, of(p.shift))
                                                     : load_from<kIsFull>(p.y, i, c, count);
      g = simd::where_positive(y, g);
      g_tangent = simd::where_positive(y, g_tangent);
    }
    if (has_addend) {
      store_to<kIsFull>(p.addend_gradient.value, i, c, g, count);
      store_to<kIsFull>(p.addend_gradient.tangent, i, c, g_tangent, count);
    }
    store_to<kIsFull>(p.x_gradient.value, i, c, simd::mul_add(g, scale, g_tangent * of(p.scale_tangent)),
                      count);
    store_to<kIsFull>(p.x_gradient.tangent, i, c, g_tangent * scale, count);
    first = first + g;
    second = simd::mul_add(g, x - of(p.mean), second);
    second = simd::mul_add(g_tangent, load_from<kIsFull>(p.x.tangent, i, c, count), second);
  };
  at::parallel_for(0, p.x.value.samples, 1, [&](int64_t begin, int64_t end) {
    auto* sums = reinterpret_cast<double*>(sum_scratch.floats(4 * channels));
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(sums, 2 * channels, 0.0);
      add_pixels(n * pixels, (n + 1) * pixels, channels, terms, sums);
      write_sample(p, n, sums);
    }
  });
}

KernelWork work_of(const ConstMaps& x, const char* format, int operations, int transfers) {
  const auto values = static_cast<double>(x.values());
  return {describe(format, {x.channels, x.height, x.width}), operations * values, transfers * values};
}

}  // namespace

void normalize_dual(const ConstDualMaps& x, const DualScaleShift& by, const DualMaps& y) {
  const bool has_addend = by.addend.value.data != nullptr;
  const TracedCall traced(
      [&] { return work_of(x.value, "batch norm {}, {}x{}, with tangent, forward", 6, has_addend ? 6 : 4); });
  if (has_addend && by.is_relu) return run_forward<true, true>(x, by, y);
  if (has_addend) return run_forward<true, false>(x, by, y);
  if (by.is_relu) return run_forward<false, true>(x, by, y);
  run_forward<false, false>(x, by, y);
}

void dual_batch_norm_backward(const DualBatchNormBackward& pass) {
  const TracedCall traced([&] {
    const int transfers =
        6 + (pass.mask == ReluMask::kFromOutput) + (pass.addend_gradient.value.data != nullptr ? 2 : 0);
    return work_of(pass.x.value, "batch norm {}, {}x{}, with tangent, backward", 10, transfers);
  });
  switch (pass.mask) {
    case ReluMask::kNone: return run_backward<ReluMask::kNone>(pass);
    case ReluMask::kFromInput: return run_backward<ReluMask::kFromInput>(pass);
    case ReluMask::kFromOutput: return run_backward<ReluMask::kFromOutput>(pass);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(normalize_dual);
HWY_EXPORT(dual_batch_norm_backward);

void normalize_dual(const ConstDualMaps& x, const DualScaleShift& by, const DualMaps& y) {
  HWY_DYNAMIC_DISPATCH(normalize_dual)(x, by, y);
}

void dual_batch_norm_backward(const DualBatchNormBackward& pass) {
  HWY_DYNAMIC_DISPATCH(dual_batch_norm_backward)(pass);
}

}  // namespace batchplus::kernels
#endif
