#pragma once

#include <cstdint>

namespace batchplus::kernels {

/// A batch of images or feature maps with the channels side by side: [N,height,width,channels]. Consecutive
/// pixels are `stride` floats apart, so that maps can be some of the channels of larger ones.
template <class Float>
struct MapsOf {
  Float* data = nullptr;
  int64_t samples = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t stride = 0;

  int64_t pixels() const { return height * width; }
  int64_t all_pixels() const { return samples * height * width; }
  int64_t values() const { return all_pixels() * channels; }
  Float* sample(int64_t n) const { return data + n * pixels() * stride; }
  Float* pixel(int64_t n, int64_t y, int64_t x) const { return sample(n) + (y * width + x) * stride; }
  operator MapsOf<const Float>() const { return {data, samples, height, width, channels, stride}; }
};

using Maps = MapsOf<float>;
using ConstMaps = MapsOf<const float>;

/// The weights of a convolution wherever they lie: that of output channel k, input channel c and kernel
/// position (y, x) at data[k * out_stride + c * in_stride + (y * kernel + x) * tap_stride].
template <class Float>
struct FiltersOf {
  Float* data = nullptr;
  int64_t out = 0;
  int64_t in = 0;
  int64_t kernel = 0;
  int64_t out_stride = 0;
  int64_t in_stride = 0;
  int64_t tap_stride = 0;

  int64_t values() const { return out * in * kernel * kernel; }
  Float* at(int64_t k, int64_t c, int64_t tap) const {
    return data + k * out_stride + c * in_stride + tap * tap_stride;
  }
  operator FiltersOf<const Float>() const {
    return {data, out, in, kernel, out_stride, in_stride, tap_stride};
  }
};

using Filters = FiltersOf<float>;
using ConstFilters = FiltersOf<const float>;

}  // namespace batchplus::kernels
