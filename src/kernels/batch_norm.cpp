#include "kernels/batch_norm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "kernels/sample_share.h"
#include "kernels/scratch.h"
#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/channel_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::Vector;

thread_local Scratch sum_scratch;
thread_local Scratch coefficient_scratch;

/// Pixels that a thread takes at least.
int64_t grain(int64_t channels) {
  constexpr int64_t kFloats = 32768;
  return std::max<int64_t>(1, kFloats / channels);
}

/// Two sums of each channel over all pixels, in double, for each part of the samples: [parts][2][channels].
class ChannelSums {
 public:
  explicit ChannelSums(int64_t samples, int64_t channels)
      : channels_(channels), parts_(sample_parts(samples)), sums_(make(2 * channels * parts_.number())) {}

  const Parts& parts() const { return parts_; }
  double* of_part(int64_t part) const { return sums_ + part * 2 * channels_; }
  double first(int64_t c) const { return sums_[c]; }
  double second(int64_t c) const { return sums_[channels_ + c]; }

  /// Once the parts are there: makes them one, of the samples at hand or, given a share, of the batch.
  void meet(SampleShare* share) const {
    for (int64_t i = 0; i < 2 * channels_; ++i)
      sums_[i] = add_parts<double>(parts_.number(), [&](int64_t part) { return of_part(part)[i]; });
    if (share != nullptr) share->add(sums_, 2 * channels_);
  }

 private:
  static double* make(int64_t count) {
    auto* sums = reinterpret_cast<double*>(sum_scratch.floats(2 * count));
    std::fill_n(sums, count, 0.0);
    return sums;
  }

  int64_t channels_;
  Parts parts_;
  double* sums_;
};

/// Sums of terms (add_pixels) over all pixels of maps; given a share, over those of the batch.
template <class Terms>
ChannelSums sum_channels(const ConstMaps& maps, SampleShare* share, const Terms& terms) {
  const ChannelSums sums(maps.samples, maps.channels);
  const Parts& parts = sums.parts();
  const int64_t part_pixels = std::max<int64_t>(1, maps.all_pixels() / parts.number());
  at::parallel_for(0, parts.number(), 1 + grain(maps.channels) / part_pixels,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t part = begin; part < end; ++part) {
                       add_pixels(parts.begin(part) * maps.pixels(), parts.end(part) * maps.pixels(),
                                  maps.channels, terms, sums.of_part(part));
                     }
                   });
  sums.meet(share);
  return sums;
}

/// Runs body(pixel, channel, count, is_full) for every vector of every pixel.
template <class Body>
void for_pixels(int64_t pixels, int64_t channels, const Body& body) {
  at::parallel_for(0, pixels, grain(channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      simd::for_vectors(channels,
                        [&](int64_t c, int64_t count, auto full) HWY_ATTR { body(i, c, count, full); });
    }
  });
}

/// Each value of the maps takes so many operations and is moved so many times.
KernelWork work_on(const ConstMaps& maps, const char* format, int operations, int transfers) {
  const auto values = static_cast<double>(maps.values());
  return {describe(format, {maps.channels, maps.height, maps.width}), operations * values,
          transfers * values};
}

}  // namespace

void channel_moments(const ConstMaps& x, float* mean, float* variance) {
  const TracedCall traced([&] { return work_on(x, "batch norm {}, {}x{}, moments", 4, 1); });
  // Deviations from the first pixel: the difference of two sums does not cancel where the mean is far from
  // zero.
  SampleShare* share = share_for_moments();
  const float* origin = x.data;
  if (share != nullptr) {
    float* first = coefficient_scratch.floats(x.channels);
    std::copy_n(x.data, x.channels, first);
    share->broadcast(first, x.channels);
    origin = first;
  }
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first, Vector& second)
                         HWY_ATTR {
                           constexpr bool kIsFull = decltype(full)::value;
                           const Vector deviation = simd::load<kIsFull>(x.data + i * x.stride + c, count) -
                                                    simd::load<kIsFull>(origin + c, count);
                           first = first + deviation;
                           second = simd::mul_add(deviation, deviation, second);
                         };
  const ChannelSums sums = sum_channels(x, share, terms);
  const double pixels = static_cast<double>(batch_pixels(x));
  for (int64_t c = 0; c < x.channels; ++c) {
    const double offset = sums.first(c) / pixels;
    mean[c] = static_cast<float>(static_cast<double>(origin[c]) + offset);
    variance[c] = static_cast<float>(std::max(0.0, sums.second(c) / pixels - offset * offset));
  }
}

void channel_sums(const ConstMaps& x, float* sums) {
  const TracedCall traced([&] { return work_on(x, "channel sums {}, {}x{}", 1, 1); });
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first, Vector&) HWY_ATTR {
    first = first + simd::load<decltype(full)::value>(x.data + i * x.stride + c, count);
  };
  const ChannelSums totals = sum_channels(x, exact_share(), terms);
  for (int64_t c = 0; c < x.channels; ++c) sums[c] = static_cast<float>(totals.first(c));
}

void normalize(const ConstMaps& x, const ScaleShift& by, const Maps& y) {
  const bool has_addend = by.addend.data != nullptr;
  const TracedCall traced([&] {
    return work_on(x, "batch norm {}, {}x{}, forward", 2 + has_addend + by.is_relu, 2 + has_addend);
  });
  const auto run = [&](auto is_adding, auto is_relu) {
    for_pixels(x.all_pixels(), x.channels, [&](int64_t i, int64_t c, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      Vector v =
          simd::mul_add(simd::load<kIsFull>(x.data + i * x.stride + c, count),
                        simd::load<kIsFull>(by.scale + c, count), simd::load<kIsFull>(by.shift + c, count));
      if constexpr (decltype(is_adding)::value)
        v = v + simd::load<kIsFull>(by.addend.data + i * by.addend.stride + c, count);
      if constexpr (decltype(is_relu)::value) v = simd::relu(v);
      simd::store<kIsFull>(y.data + i * y.stride + c, v, count);
    });
  };
  if (has_addend && by.is_relu) run(std::true_type{}, std::true_type{});
  if (has_addend && !by.is_relu) run(std::true_type{}, std::false_type{});
  if (!has_addend && by.is_relu) run(std::false_type{}, std::true_type{});
  if (!has_addend && !by.is_relu) run(std::false_type{}, std::false_type{});
}

namespace {

template <ReluMask kMask, bool kHasAddend, bool kIsAdding>
void run_backward(const BatchNormBackward& p) {
  const int64_t channels = p.x.channels;
  const int64_t pixels = p.x.all_pixels();
  /// The gradient that passes max(0, .).
  const auto passed = [&](int64_t i, int64_t c, int64_t count, auto full, Vector x) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const Vector g = simd::load<kIsFull>(p.y_gradient.data + i * p.y_gradient.stride + c, count);
    if constexpr (kMask == ReluMask::kFromInput) {
      return simd::where_positive(
          simd::mul_add(x, simd::load<kIsFull>(p.scale + c, count), simd::load<kIsFull>(p.shift + c, count)),
          g);
    } else if constexpr (kMask == ReluMask::kFromOutput) {
      return simd::where_positive(simd::load<kIsFull>(p.y.data + i * p.y.stride + c, count), g);
    } else {
      return g;
    }
  };
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first,
                         Vector& second) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const Vector x = simd::load<kIsFull>(p.x.data + i * p.x.stride + c, count);
    const Vector g = passed(i, c, count, full, x);
    if constexpr (kHasAddend) {
      simd::store<kIsFull>(p.addend_gradient.data + i * p.addend_gradient.stride + c, g, count);
    }
    first = first + g;
    second = simd::mul_add(g, x - simd::load<kIsFull>(p.mean + c, count), second);
  };
  SampleShare* share = share_for_moments();
  const ChannelSums sums = sum_channels(p.x, share, terms);
  const bool is_counted = share == nullptr || share->is_exact() || share->is_first();
  const double all_pixels = static_cast<double>(batch_pixels(p.x));

  // x's gradient = scale * (g - mean(g) - (x - m) * inverse_std^2 * mean(g (x - m)))
  const int64_t padded = round_up(channels, kLanes);
  float* slope = coefficient_scratch.floats(2 * padded);
  float* offset = slope + padded;
  for (int64_t c = 0; c < channels; ++c) {
    const double inverse = p.inverse_std[c];
    const double scale = p.scale[c];
    p.bias_gradient[c] = is_counted ? static_cast<float>(sums.first(c)) : 0.0F;
    p.weight_gradient[c] = is_counted ? static_cast<float>(sums.second(c) * inverse) : 0.0F;
    const double a = -scale * inverse * inverse * sums.second(c) / all_pixels;
    slope[c] = static_cast<float>(a);
    offset[c] = static_cast<float>(-scale * sums.first(c) / all_pixels);
  }
  for_pixels(pixels, channels, [&](int64_t i, int64_t c, int64_t count, auto full) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const Vector x = simd::load<kIsFull>(p.x.data + i * p.x.stride + c, count);
    Vector g;
    if constexpr (kHasAddend) {
      g = simd::load<kIsFull>(p.addend_gradient.data + i * p.addend_gradient.stride + c, count);
    } else {
      g = passed(i, c, count, full, x);
    }
    Vector value =
        simd::mul_add(x - simd::load<kIsFull>(p.mean + c, count), simd::load<kIsFull>(slope + c, count),
                      simd::load<kIsFull>(offset + c, count));
    value = simd::mul_add(g, simd::load<kIsFull>(p.scale + c, count), value);
    float* to = p.x_gradient.data + i * p.x_gradient.stride + c;
    if constexpr (kIsAdding) value = value + simd::load<kIsFull>(to, count);
    simd::store<kIsFull>(to, value, count);
  });
}

KernelWork work_of(const BatchNormBackward& pass, bool has_addend) {
  // x and y's gradient in both passes, x's gradient in the second. With an addend, the first pass writes its
  // gradient and the second reads that instead of y's gradient and y.
  int transfers = 5 + has_addend + pass.is_adding;
  if (pass.mask == ReluMask::kFromOutput) transfers += has_addend ? 1 : 2;
  return work_on(pass.x, "batch norm {}, {}x{}, backward", 9, transfers);
}

}  // namespace

void batch_norm_backward(const BatchNormBackward& pass) {
  const bool has_addend = pass.addend_gradient.data != nullptr;
  const TracedCall traced([&] { return work_of(pass, has_addend); });
  const auto run = [&](auto mask) {
    constexpr ReluMask kMask = decltype(mask)::value;
    if (has_addend) return run_backward<kMask, true, false>(pass);
    if (pass.is_adding) return run_backward<kMask, false, true>(pass);
    run_backward<kMask, false, false>(pass);
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

int64_t batch_pixels(const ConstMaps& x) {
  const SampleShare* share = share_for_moments();
  return (share != nullptr ? share->whole() : x.samples) * x.pixels();
}

HWY_EXPORT(channel_moments);
HWY_EXPORT(channel_sums);
HWY_EXPORT(normalize);
HWY_EXPORT(batch_norm_backward);

void channel_moments(const ConstMaps& x, float* mean, float* variance) {
  HWY_DYNAMIC_DISPATCH(channel_moments)(x, mean, variance);
}

void channel_sums(const ConstMaps& x, float* sums) {
  HWY_DYNAMIC_DISPATCH(channel_sums)(x, sums);
}

void normalize(const ConstMaps& x, const ScaleShift& by, const Maps& y) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, by, y);
}

void batch_norm_backward(const BatchNormBackward& pass) {
  HWY_DYNAMIC_DISPATCH(batch_norm_backward)(pass);
}

}  // namespace batchplus::kernels
#endif
