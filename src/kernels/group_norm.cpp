#include "kernels/group_norm.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <vector>

#include "kernels/sample_share.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/group_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/channel_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::Vector;

/// Numbers of each channel of one sample.
struct ChannelNumbers {
  explicit ChannelNumbers(int64_t channels)
      : sums(static_cast<size_t>(2 * channels)),
        mean(static_cast<size_t>(channels)),
        scale(mean),
        slope(mean),
        shift(mean) {}

  std::vector<double> sums;
  std::vector<float> mean, scale, slope, shift;
};

/// Two sums over the pixels of sample n: [2][channels] of `sums`.
template <class Terms>
void sum_sample(const ConstMaps& maps, int64_t n, const Terms& terms, std::vector<double>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  add_pixels(n * maps.pixels(), (n + 1) * maps.pixels(), maps.channels, terms, sums.data());
}

/// The mean of each group over its channels' sums, written to every channel of `to`.
void write_group_means(const double* sums, int64_t groups, int64_t pixels, std::vector<float>& to) {
  const auto width = static_cast<int64_t>(to.size()) / groups;
  for (int64_t group = 0; group < groups; ++group) {
    double sum = 0;
    for (int64_t c = group * width; c < (group + 1) * width; ++c) sum += sums[c];
    std::fill_n(to.begin() + group * width, width,
                static_cast<float>(sum / static_cast<double>(width * pixels)));
  }
}

void normalize_sample(const ConstMaps& x, int64_t n, const GroupNormParameters& by, const Maps& y,
                      float* means, float* inverses, ChannelNumbers& numbers) {
  const int64_t width = x.channels / by.groups;
  const auto load = [&](int64_t i, int64_t c, int64_t count, auto full) HWY_ATTR {
    return simd::load<decltype(full)::value>(x.data + i * x.stride + c, count);
  };
  sum_sample(
      x, n,
      [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first, Vector&)
          HWY_ATTR { first = first + load(i, c, count, full); },
      numbers.sums);
  write_group_means(numbers.sums.data(), by.groups, x.pixels(), numbers.mean);
  const auto deviations = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first,
                              Vector&) HWY_ATTR {
    const Vector deviation =
        load(i, c, count, full) - simd::load<decltype(full)::value>(numbers.mean.data() + c, count);
    first = simd::mul_add(deviation, deviation, first);
  };
  sum_sample(x, n, deviations, numbers.sums);
  std::vector<float>& variance = numbers.slope;
  write_group_means(numbers.sums.data(), by.groups, x.pixels(), variance);
  for (int64_t c = 0; c < x.channels; ++c) {
    const double inverse = 1 / std::sqrt(static_cast<double>(variance[c]) + by.epsilon);
    const double scale = static_cast<double>(by.weight[c]) * inverse;
    numbers.scale[c] = static_cast<float>(scale);
    numbers.shift[c] =
        static_cast<float>(static_cast<double>(by.bias[c]) - static_cast<double>(numbers.mean[c]) * scale);
    if (c % width != 0) continue;
    means[n * by.groups + c / width] = numbers.mean[c];
    inverses[n * by.groups + c / width] = static_cast<float>(inverse);
  }
  for (int64_t i = n * x.pixels(); i < (n + 1) * x.pixels(); ++i) {
    simd::for_vectors(x.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      const Vector v =
          simd::mul_add(load(i, c, count, full), simd::load<kIsFull>(numbers.scale.data() + c, count),
                        simd::load<kIsFull>(numbers.shift.data() + c, count));
      simd::store<kIsFull>(y.data + i * y.stride + c, v, count);
    });
  }
}

/// x's gradient of sample n, and its terms of the parameters' gradients: [channels] each.
void differentiate_sample(const GroupNormBackward& p, int64_t n, ChannelNumbers& numbers,
                          double* weight_terms, double* bias_terms) {
  const int64_t channels = p.x.channels;
  const int64_t width = channels / p.groups;
  for (int64_t c = 0; c < channels; ++c) numbers.mean[c] = p.mean[n * p.groups + c / width];
  const auto terms = [&](int64_t i, int64_t c, int64_t count, auto full, Vector& first,
                         Vector& second) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    const Vector g = simd::load<kIsFull>(p.y_gradient.data + i * p.y_gradient.stride + c, count);
    const Vector deviation = simd::load<kIsFull>(p.x.data + i * p.x.stride + c, count) -
                             simd::load<kIsFull>(numbers.mean.data() + c, count);
    first = first + g;
    second = simd::mul_add(g, deviation, second);
  };
  sum_sample(p.x, n, terms, numbers.sums);
  // x's gradient = weight inverse g - (inverse / m) sum(weight g) - (x - mean) (inverse^3 / m) sum(weight g
  // (x - mean)), sums over the group's m values.
  const auto m = static_cast<double>(width * p.x.pixels());
  for (int64_t group = 0; group < p.groups; ++group) {
    const double inverse = p.inverse_std[n * p.groups + group];
    double sum = 0;
    double product = 0;
    for (int64_t c = group * width; c < (group + 1) * width; ++c) {
      sum += static_cast<double>(p.weight[c]) * numbers.sums[c];
      product += static_cast<double>(p.weight[c]) * numbers.sums[channels + c];
      bias_terms[c] = numbers.sums[c];
      weight_terms[c] = numbers.sums[channels + c] * inverse;
    }
    for (int64_t c = group * width; c < (group + 1) * width; ++c) {
      numbers.scale[c] = static_cast<float>(static_cast<double>(p.weight[c]) * inverse);
      numbers.slope[c] = static_cast<float>(-inverse * inverse * inverse * product / m);
      numbers.shift[c] = static_cast<float>(-inverse * sum / m);
    }
  }
  for (int64_t i = n * p.x.pixels(); i < (n + 1) * p.x.pixels(); ++i) {
    simd::for_vectors(channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      const auto number = [&](const std::vector<float>& numbers_of)
                              HWY_ATTR { return simd::load<kIsFull>(numbers_of.data() + c, count); };
      const Vector g = simd::load<kIsFull>(p.y_gradient.data + i * p.y_gradient.stride + c, count);
      const Vector deviation =
          simd::load<kIsFull>(p.x.data + i * p.x.stride + c, count) - number(numbers.mean);
      const Vector value = simd::mul_add(deviation, number(numbers.slope), number(numbers.shift));
      simd::store<kIsFull>(p.x_gradient.data + i * p.x_gradient.stride + c,
                           simd::mul_add(g, number(numbers.scale), value), count);
    });
  }
}

}  // namespace

void group_norm_forward(const ConstMaps& x, const GroupNormParameters& by, const Maps& y, float* mean,
                        float* inverse_std) {
  at::parallel_for(0, x.samples, 1, [&](int64_t begin, int64_t end) {
    ChannelNumbers numbers(x.channels);
    for (int64_t n = begin; n < end; ++n) normalize_sample(x, n, by, y, mean, inverse_std, numbers);
  });
}

void group_norm_backward(const GroupNormBackward& pass) {
  const int64_t channels = pass.x.channels;
  // Those of all samples of the batch where its sums meet.
  SampleShare* share = exact_share();
  const int64_t samples = share != nullptr ? share->whole() : pass.x.samples;
  const int64_t first = share != nullptr ? share->begin(samples) : 0;
  std::vector<double> terms(static_cast<size_t>(2 * samples * channels));
  double* all_weight_terms = terms.data();
  double* all_bias_terms = all_weight_terms + samples * channels;
  double* weight_terms = all_weight_terms + first * channels;
  double* bias_terms = all_bias_terms + first * channels;
  at::parallel_for(0, pass.x.samples, 1, [&](int64_t begin, int64_t end) {
    ChannelNumbers numbers(channels);
    for (int64_t n = begin; n < end; ++n) {
      differentiate_sample(pass, n, numbers, weight_terms + n * channels, bias_terms + n * channels);
    }
  });
  if (share != nullptr) {
    const int64_t bytes = channels * static_cast<int64_t>(sizeof(double));
    share->gather(all_weight_terms, samples, bytes);
    share->gather(all_bias_terms, samples, bytes);
  }
  for (int64_t c = 0; c < channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (int64_t n = 0; n < samples; ++n) {
      weight += all_weight_terms[n * channels + c];
      bias += all_bias_terms[n * channels + c];
    }
    pass.weight_gradient[c] = static_cast<float>(weight);
    pass.bias_gradient[c] = static_cast<float>(bias);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(group_norm_forward);
HWY_EXPORT(group_norm_backward);

void group_norm_forward(const ConstMaps& x, const GroupNormParameters& by, const Maps& y, float* mean,
                        float* inverse_std) {
  HWY_DYNAMIC_DISPATCH(group_norm_forward)(x, by, y, mean, inverse_std);
}

void group_norm_backward(const GroupNormBackward& pass) {
  HWY_DYNAMIC_DISPATCH(group_norm_backward)(pass);
}

}  // namespace batchplus::kernels
#endif
