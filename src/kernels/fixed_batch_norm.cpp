#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/batch_norm.h"
#include "kernels/scratch.h"
#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fixed_batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/channel_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::Vector;

thread_local Scratch sum_scratch;

/// The samples' gradients from sums over their pixels: [2][channels], g and g (x - mean).
void write_sample(const FixedBatchNormBackward& p, int64_t n, const double* sums) {
  if (p.sample_weights == nullptr) return;
  const int64_t channels = p.x.channels;
  for (int64_t c = 0; c < channels; ++c) {
    p.sample_biases[n * channels + c] = static_cast<float>(sums[c]);
    p.sample_weights[n * channels + c] =
        static_cast<float>(sums[channels + c] * static_cast<double>(p.inverse_std[c]));
  }
}

template <ReluMask kMask, bool kIsAdding>
void run_fixed_backward(const FixedBatchNormBackward& p) {
  const int64_t channels = p.x.channels;
  const bool has_addend = p.addend_gradient.data != nullptr;
  const bool has_input = p.x_gradient.data != nullptr;
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first,
                         Vector& second) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const Vector x = simd::load<kIsFull>(p.x.data + i * p.x.stride + c, count);
    const Vector scale = simd::load<kIsFull>(p.scale + c, count);
    Vector g = simd::load<kIsFull>(p.y_gradient.data + i * p.y_gradient.stride + c, count);
    if constexpr (kMask == ReluMask::kFromInput) {
      const Vector shift = simd::load<kIsFull>(p.shift + c, count);
      g = simd::where_positive(simd::mul_add(x, scale, shift), g);
    } else if constexpr (kMask == ReluMask::kFromOutput) {
      g = simd::where_positive(simd::load<kIsFull>(p.y.data + i * p.y.stride + c, count), g);
    }
    if (has_addend) {
      simd::store<kIsFull>(p.addend_gradient.data + i * p.addend_gradient.stride + c, g, count);
    }
    if (has_input) {
      float* to = p.x_gradient.data + i * p.x_gradient.stride + c;
      Vector value = g * scale;
      if constexpr (kIsAdding) value = value + simd::load<kIsFull>(to, count);
      simd::store<kIsFull>(to, value, count);
    }
    first = first + g;
    second = simd::mul_add(g, x - simd::load<kIsFull>(p.mean + c, count), second);
  };
  at::parallel_for(0, p.x.samples, 1, [&](int64_t begin, int64_t end) {
    auto* sums = reinterpret_cast<double*>(sum_scratch.floats(4 * channels));
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(sums, 2 * channels, 0.0);
      add_pixels(n * p.x.pixels(), (n + 1) * p.x.pixels(), channels, terms, sums);
      write_sample(p, n, sums);
    }
  });
}

KernelWork work_of(const FixedBatchNormBackward& p) {
  const auto values = static_cast<double>(p.x.values());
  const int transfers = 2 + (p.x_gradient.data != nullptr) + p.is_adding + (p.mask == ReluMask::kFromOutput) +
                        (p.addend_gradient.data != nullptr);
  return {describe("batch norm {}, {}x{}, fixed, backward", {p.x.channels, p.x.height, p.x.width}),
          5 * values, transfers * values};
}

}  // namespace

void fixed_batch_norm_backward(const FixedBatchNormBackward& pass) {
  const TracedCall traced([&] { return work_of(pass); });
  const auto run = [&](auto mask) {
    constexpr ReluMask kMask = decltype(mask)::value;
    if (pass.is_adding) return run_fixed_backward<kMask, true>(pass);
    run_fixed_backward<kMask, false>(pass);
  };
  switch (pass.mask) {
    case ReluMask::kNone: return run(std::integral_constant<ReluMask, ReluMask::kNone>{});
    case ReluMask::kFromInput: return run(std::integral_constant<ReluMask, ReluMask::kFromInput>{});
    case ReluMask::kFromOutput: return run(std::integral_constant<ReluMask, ReluMask::kFromOutput>{});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(fixed_batch_norm_backward);

void fixed_batch_norm_backward(const FixedBatchNormBackward& pass) {
  HWY_DYNAMIC_DISPATCH(fixed_batch_norm_backward)(pass);
}

}  // namespace batchplus::kernels
#endif
