#include "kernels/image_convolution.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/sample_share.h"
#include "kernels/scratch.h"
#include "kernels/unfolded_convolution.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image_convolution.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::kLanes;
using simd::Vector;

constexpr int kKernel = 3;
constexpr int64_t kPadding = 1;
/// Pixels that are summed at a time: enough independent sums to hide the latency of a multiply-add.
constexpr int kPixels = 8;

thread_local Scratch image_scratch;
thread_local Scratch filter_scratch;
thread_local Scratch sum_scratch;

/// Images with a border of zeros. A filter's row at a pixel is kRow = 3 x channels floats in one piece.
template <int kRow>
class PaddedImages {
 public:
  PaddedImages(const ConvolutionGeometry& geometry, const ConstMaps& x)
      : x_(x), step_(geometry.stride * x.channels), width_(x.width + 2 * kPadding) {}

  static constexpr int64_t kChannels = kRow / kKernel;
  int64_t row_floats() const { return width_ * kChannels; }
  /// Floats between the patches of neighbouring output pixels.
  int64_t step() const { return step_; }

  /// A copy of one sample in this thread's memory: [height + 2, width + 2, channels].
  const float* pad(int64_t sample) const {
    const int64_t rows = x_.height + 2 * kPadding;
    float* image = image_scratch.floats(rows * row_floats());
    std::fill_n(image, row_floats(), 0.0F);
    std::fill_n(image + (rows - 1) * row_floats(), row_floats(), 0.0F);
    for (int64_t y = 0; y < x_.height; ++y) {
      float* to = image + (y + kPadding) * row_floats();
      std::fill_n(to, kChannels, 0.0F);
      std::copy_n(x_.pixel(sample, y, 0), x_.width * kChannels, to + kChannels);
      std::fill_n(to + (x_.width + 1) * kChannels, kChannels, 0.0F);
    }
    return image;
  }
  /// Where the patches of a row of outputs begin.
  const float* row(const float* image, int64_t output_y) const {
    return image + output_y * (step_ / kChannels) * row_floats();
  }

 private:
  ConstMaps x_;
  int64_t step_;
  int64_t width_;
};

/// [kernel row][place in the row][out rounded up to whole vectors].
template <int kRow>
float* pack(const ConstFilters& w, int64_t columns) {
  float* packed = filter_scratch.floats(kKernel * kRow * columns);
  for (int64_t tap = 0; tap < kKernel * kKernel; ++tap) {
    for (int64_t c = 0; c < w.in; ++c, packed += columns) {
      for (int64_t k = 0; k < w.out; ++k) packed[k] = *w.at(k, c, tap);
      std::fill(packed + w.out, packed + columns, 0.0F);
    }
  }
  return packed - kKernel * kRow * columns;
}

/// A vector of outputs of P neighbouring pixels.
template <int kRow, int P, bool kIsFull>
HWY_INLINE void convolve_pixels(const float* patch, int64_t step, int64_t row_floats, const float* filters,
                                int64_t columns, const float* bias, float* y, int64_t y_stride,
                                int64_t count) {
  Vector sums[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) sums[p] = simd::zero();
  for (int ky = 0; ky < kKernel; ++ky, patch += row_floats) {
#pragma GCC unroll 9
    for (int j = 0; j < kRow; ++j, filters += columns) {
      const Vector filter = simd::load(filters);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sums[p] = simd::mul_add(simd::set(patch[p * step + j]), filter, sums[p]);
    }
  }
  const Vector addend = bias != nullptr ? simd::load<kIsFull>(bias, count) : simd::zero();
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) {
    const Vector v = bias != nullptr ? sums[p] + addend : sums[p];
    simd::store<kIsFull>(y + p * y_stride, v, count);
  }
}

template <int kRow>
void forward(const ConvolutionGeometry& geometry, const ConstMaps& x, const ConstFilters& w,
             const float* bias, const Maps& y) {
  const PaddedImages<kRow> images(geometry, x);
  const int64_t columns = round_up(w.out, kLanes);
  const float* filters = pack<kRow>(w, columns);
  const auto row = [&](const float* patches, float* to) HWY_ATTR {
    simd::for_vectors(w.out, [&](int64_t k, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      const float* addend = bias != nullptr ? bias + k : nullptr;
      int64_t i = 0;
      for (; i + kPixels <= y.width; i += kPixels) {
        convolve_pixels<kRow, kPixels, kIsFull>(patches + i * images.step(), images.step(),
                                                images.row_floats(), filters + k, columns, addend,
                                                to + i * y.stride + k, y.stride, count);
      }
      for (; i < y.width; ++i) {
        convolve_pixels<kRow, 1, kIsFull>(patches + i * images.step(), images.step(), images.row_floats(),
                                          filters + k, columns, addend, to + i * y.stride + k, y.stride,
                                          count);
      }
    });
  };
  at::parallel_for(0, y.samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      const float* image = images.pad(sample);
      for (int64_t i = 0; i < y.height; ++i) row(images.row(image, i), y.pixel(sample, i, 0));
    }
  });
}

/// sums: [place in the filters' row][out] (+)= the products of one row of patches with their gradients, pixel
/// after pixel.
template <int kRow>
HWY_INLINE void add_row(const float* patches, int64_t step, const float* g, const ConstMaps& maps,
                        int64_t columns, float* sums) {
  simd::for_vectors(maps.channels, [&](int64_t k, int64_t count, auto full) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    Vector row[kRow];
#pragma GCC unroll 9
    for (int j = 0; j < kRow; ++j) row[j] = simd::load(sums + j * columns + k);
    for (int64_t i = 0; i < maps.width; ++i) {
      const Vector gradient = simd::load<kIsFull>(g + i * maps.stride + k, count);
#pragma GCC unroll 9
      for (int j = 0; j < kRow; ++j)
        row[j] = simd::mul_add(simd::set(patches[i * step + j]), gradient, row[j]);
    }
#pragma GCC unroll 9
    for (int j = 0; j < kRow; ++j) simd::store(sums + j * columns + k, row[j]);
  });
}

template <int kRow>
void filters_gradient(const ConvolutionGeometry& geometry, const ConstMaps& x, const ConstMaps& g,
                      const Filters& gradient) {
  const PaddedImages<kRow> images(geometry, x);
  const int64_t columns = round_up(gradient.out, kLanes);
  const int64_t floats = kKernel * kRow * columns;
  const Parts parts = sample_parts(g.samples, unfolded_filter_parts(whole_samples(g.samples), gradient));
  float* sums = sum_scratch.floats(parts.number() * floats);
  at::parallel_for(0, parts.number(), 1, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t part = first; part < last; ++part) {
      float* sum = sums + part * floats;
      std::fill_n(sum, floats, 0.0F);
      for (int64_t sample = parts.begin(part); sample < parts.end(part); ++sample) {
        const float* image = images.pad(sample);
        for (int64_t y = 0; y < g.height; ++y) {
          for (int ky = 0; ky < kKernel; ++ky) {
            add_row<kRow>(images.row(image, y) + ky * images.row_floats(), images.step(),
                          g.pixel(sample, y, 0), g, columns, sum + ky * kRow * columns);
          }
        }
      }
    }
  });
  const int64_t left = meet_parts(sums, floats, parts.number());
  for (int64_t k = 0; k < gradient.out; ++k) {
    for (int64_t i = 0; i < kKernel * kRow; ++i) {
      *gradient.at(k, i % gradient.in, i / gradient.in) =
          add_parts<float>(left, [&](int64_t part) { return sums[part * floats + i * columns + k]; });
    }
  }
}

}  // namespace

void image_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                   const float* bias, const Maps& y) {
  const auto compute = x.maps.channels == 1 ? forward<3> : forward<9>;
  compute(geometry, x.maps, w, bias, y);
}

void image_filters_gradient(const ConvolutionGeometry& geometry, const ConvolutionInput& x,
                            const ConstMaps& g, const Filters& gradient) {
  const auto compute = x.maps.channels == 1 ? filters_gradient<3> : filters_gradient<9>;
  compute(geometry, x.maps, g, gradient);
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(image_forward);
HWY_EXPORT(image_filters_gradient);

bool takes_images(const ConvolutionGeometry& geometry, const ConvolutionInput& x) {
  const bool is_image = x.scale == nullptr && x.maps.stride == x.maps.channels;
  return is_image && (x.maps.channels == 1 || x.maps.channels == 3) && geometry.kernel == 3 &&
         geometry.padding == 1;
}

void image_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                   const float* bias, const Maps& y) {
  HWY_DYNAMIC_DISPATCH(image_forward)(geometry, x, w, bias, y);
}

void image_filters_gradient(const ConvolutionGeometry& geometry, const ConvolutionInput& x,
                            const ConstMaps& y_gradient, const Filters& gradient) {
  HWY_DYNAMIC_DISPATCH(image_filters_gradient)(geometry, x, y_gradient, gradient);
}

}  // namespace batchplus::kernels
#endif
