#include "kernels/unfolded_convolution.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/batch_norm.h"
#include "kernels/product.h"
#include "kernels/scratch.h"
#include "kernels/simd.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

using simd::kLanes;
using simd::Vector;

constexpr int64_t kMostThreads = 256;

thread_local Scratch patch_scratch;
thread_local Scratch result_scratch;
thread_local Scratch panel_scratch;
thread_local Scratch gradient_scratch;

/// Runs body(begin, end) for blocks of output pixels; a thread's blocks are consecutive and cover whole
/// samples.
template <class Body>
void for_blocks(int64_t samples, int64_t pixels, int64_t depth, const Body& body) {
  constexpr int64_t kFloats = 64 * 1024;
  constexpr int64_t kLeast = 32;
  constexpr int64_t kMost = 256;
  const int64_t size = std::clamp(kFloats / depth, kLeast, kMost);
  at::parallel_for(0, samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * pixels; i < end * pixels; i += size) body(i, std::min(i + size, end * pixels));
  });
}

/// A matrix: row i starts at data + i * stride.
struct Rows {
  const float* data;
  int64_t stride;
};

/// The patches of output pixels: [pixels, kernel, kernel, channels], rounded up to whole vectors with zeros.
class Patches {
 public:
  Patches(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const Maps& y)
      : geometry_(geometry), x_(x), height_(y.height), width_(y.width) {}

  int64_t depth() const { return geometry_.kernel * geometry_.kernel * x_.maps.channels; }
  int64_t stride() const { return round_up(depth(), kLanes); }
  /// Whether a patch is a pixel.
  bool is_pointwise() const {
    return geometry_.kernel == 1 && geometry_.stride == 1 && geometry_.padding == 0;
  }

  Rows gather(int64_t begin, int64_t end) {
    const ConstMaps& maps = x_.maps;
    const bool is_whole = maps.channels % kLanes == 0;
    if (is_pointwise() && x_.scale == nullptr && is_whole)
      return {maps.data + begin * maps.stride, maps.stride};
    float* patches = patch_scratch.floats((end - begin) * stride());
    float* to = patches;
    for (int64_t i = begin; i < end; ++i, to += stride()) {
      const int64_t sample = i / (height_ * width_);
      const int64_t place = i % (height_ * width_);
      if (is_pointwise()) {
        copy_pixel(maps.data + i * maps.stride, to);
      } else {
        copy_patch(sample, place / width_ * geometry_.stride - geometry_.padding,
                   place % width_ * geometry_.stride - geometry_.padding, to);
      }
      std::fill(to + depth(), to + stride(), 0.0F);
    }
    return {patches, stride()};
  }

  /// Adds gradients with respect to patches to those with respect to maps.
  void scatter(int64_t begin, int64_t end, const float* from, const Maps& gradient) const {
    for (int64_t i = begin; i < end; ++i, from += stride()) {
      const int64_t sample = i / (height_ * width_);
      const int64_t place = i % (height_ * width_);
      if (place == 0) {
        for (int64_t pixel = 0; pixel < gradient.pixels(); ++pixel)
          std::fill_n(gradient.sample(sample) + pixel * gradient.stride, gradient.channels, 0.0F);
      }
      const int64_t y0 = place / width_ * geometry_.stride - geometry_.padding;
      const int64_t x0 = place % width_ * geometry_.stride - geometry_.padding;
      for (int64_t tap = 0; tap < geometry_.kernel * geometry_.kernel; ++tap) {
        const int64_t y = y0 + tap / geometry_.kernel;
        const int64_t x = x0 + tap % geometry_.kernel;
        if (y < 0 || y >= gradient.height || x < 0 || x >= gradient.width) continue;
        float* to = gradient.pixel(sample, y, x);
        const float* part = from + tap * gradient.channels;
        simd::for_vectors(
            gradient.channels, [&](int64_t c, int64_t count, auto full) __attribute__((always_inline)) {
              constexpr bool kIsFull = decltype(full)::value;
              simd::store<kIsFull>(
                  to + c, simd::load<kIsFull>(to + c, count) + simd::load<kIsFull>(part + c, count), count);
            });
      }
    }
  }

 private:
  /// Copies a pixel, normalised if so.
  void copy_pixel(const float* from, float* to) const {
    simd::for_vectors(
        x_.maps.channels, [&](int64_t c, int64_t count, auto full) __attribute__((always_inline)) {
          constexpr bool kIsFull = decltype(full)::value;
          Vector v = simd::load<kIsFull>(from + c, count);
          if (x_.scale != nullptr) {
            v = v * simd::load<kIsFull>(x_.scale + c, count) + simd::load<kIsFull>(x_.shift + c, count);
            v = simd::relu(v);
          }
          simd::store<kIsFull>(to + c, v, count);
        });
  }

  void copy_patch(int64_t sample, int64_t y0, int64_t x0, float* to) const {
    const ConstMaps& maps = x_.maps;
    const int64_t channels = maps.channels;
    const int64_t first = std::max<int64_t>(0, -x0);
    const int64_t last = std::min(geometry_.kernel, maps.width - x0);
    const bool is_dense = maps.stride == channels && x_.scale == nullptr;
    for (int64_t ky = 0; ky < geometry_.kernel; ++ky, to += geometry_.kernel * channels) {
      const int64_t y = y0 + ky;
      if (y < 0 || y >= maps.height || first >= last) {
        std::fill_n(to, geometry_.kernel * channels, 0.0F);
        continue;
      }
      std::fill_n(to, first * channels, 0.0F);
      std::fill_n(to + last * channels, (geometry_.kernel - last) * channels, 0.0F);
      if (is_dense) {
        std::copy_n(maps.pixel(sample, y, x0 + first), (last - first) * channels, to + first * channels);
      } else {
        for (int64_t kx = first; kx < last; ++kx)
          copy_pixel(maps.pixel(sample, y, x0 + kx), to + kx * channels);
      }
    }
  }

  ConvolutionGeometry geometry_;
  ConvolutionInput x_;
  int64_t height_;
  int64_t width_;
};

/// Panels of [tap and input channel][out rounded up].
void pack_filters(const ConstFilters& w, const PanelLayout& layout, float* panels) {
  const int64_t taps = w.kernel * w.kernel;
  at::parallel_for(0, layout.columns / kLanes, 1 + 16384 / layout.depth / kLanes,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t k0 = begin * kLanes; k0 < end * kLanes; k0 += kLanes) {
                       const int64_t filters = std::min(kLanes, w.out - k0);
                       for (int64_t tap = 0; tap < taps; ++tap) {
                         for (int64_t c = 0; c < w.in; c += kLanes) {
                           const int64_t count = std::min(kLanes, w.in - c);
                           Vector rows[kLanes];
                           for (int64_t k = 0; k < kLanes; ++k) {
                             alignas(32) float lanes[kLanes] = {};
                             const float* from = w.at(k0 + k, c, tap);
                             if (k < filters)
                               for (int64_t i = 0; i < count; ++i) lanes[i] = from[i * w.in_stride];
                             rows[k] = _mm256_load_ps(lanes);
                           }
                           simd::transpose(rows);
                           for (int64_t i = 0; i < count; ++i)
                             _mm256_storeu_ps(panels + layout.offset(tap * w.in + c + i, k0), rows[i]);
                         }
                       }
                     }
                   });
}

/// Panels of [out][tap and input channel, rounded up].
void pack_filters_transposed(const ConstFilters& w, const PanelLayout& layout, float* panels) {
  const int64_t taps = w.kernel * w.kernel;
  at::parallel_for(0, w.out, 1 + 16384 / layout.columns, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < w.in; ++c) panels[layout.offset(k, tap * w.in + c)] = *w.at(k, c, tap);
      }
      for (int64_t i = taps * w.in; i < layout.columns; ++i) panels[layout.offset(k, i)] = 0;
    }
  });
}

/// sum: [rows of g][columns of patches] (+)= g^T patches.
void add_gradient(const Rows& g, int64_t out, const Rows& patches, int64_t columns, int64_t pixels,
                  bool is_accumulating, float* sum) {
  constexpr int64_t kColumns = 64;
  constexpr int64_t kRows = 64;
  for (int64_t c = 0; c < columns; c += kColumns) {
    for (int64_t k = 0; k < out; k += kRows) {
      const Product product({.rows = std::min(kRows, out - k),
                             .columns = std::min(kColumns, columns - c),
                             .depth = pixels,
                             .a_stride = g.stride,
                             .b_stride = patches.stride,
                             .c_stride = columns,
                             .is_a_transposed = true,
                             .is_accumulating = is_accumulating});
      product(g.data + k, patches.data + c, sum + k * columns + c);
    }
  }
}

}  // namespace

void unfolded_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                      const float* bias, const Maps& y) {
  Patches patches(geometry, x, y);
  const PanelLayout layout{patches.depth(), round_up(w.out, kLanes)};
  float* panels = panel_scratch.floats(layout.floats());
  pack_filters(w, layout, panels);
  const bool is_direct = bias == nullptr && w.out % kLanes == 0;
  for_blocks(y.samples, y.pixels(), patches.stride(), [&](int64_t begin, int64_t end) {
    const int64_t pixels = end - begin;
    const Rows rows = patches.gather(begin, end);
    float* to = y.data + begin * y.stride;
    if (is_direct) {
      PanelProduct(layout, pixels, rows.stride, y.stride)(rows.data, panels, to);
      return;
    }
    const float* result = result_scratch.floats(pixels * layout.columns);
    PanelProduct(layout, pixels, rows.stride, layout.columns)(rows.data, panels, const_cast<float*>(result));
    for (int64_t i = 0; i < pixels; ++i, to += y.stride, result += layout.columns) {
      simd::for_vectors(
          w.out, [&](int64_t k, int64_t count, auto full) __attribute__((always_inline)) {
            constexpr bool kIsFull = decltype(full)::value;
            Vector v = _mm256_loadu_ps(result + k);
            if (bias != nullptr) v += simd::load<kIsFull>(bias + k, count);
            simd::store<kIsFull>(to + k, v, count);
          });
    }
  });
}

void unfolded_backward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& g, const ConvolutionGradients& gradients) {
  Patches patches(geometry, x, {nullptr, g.samples, g.height, g.width, g.channels, g.stride});
  const int64_t columns = patches.stride();
  const PanelLayout layout{w.out, columns};
  const Maps& dx = gradients.input;
  const bool is_direct = patches.is_pointwise() && w.in % kLanes == 0;
  float* panels = nullptr;
  if (dx.data != nullptr) {
    panels = panel_scratch.floats(layout.floats());
    pack_filters_transposed(w, layout, panels);
  }
  const int64_t threads = at::get_num_threads();
  BATCHPLUS_CHECK(threads <= kMostThreads, "a flag for each thread");
  bool is_used[kMostThreads] = {};
  const int64_t filter_floats = w.out * columns;
  float* sums = gradient_scratch.floats(threads * filter_floats);
  for_blocks(g.samples, g.pixels(), columns, [&](int64_t begin, int64_t end) {
    const int64_t pixels = end - begin;
    const int64_t thread = at::get_thread_num();
    const Rows rows = patches.gather(begin, end);
    const Rows g_rows{g.data + begin * g.stride, g.stride};
    add_gradient(g_rows, w.out, rows, columns, pixels, is_used[thread], sums + thread * filter_floats);
    is_used[thread] = true;
    if (panels == nullptr) return;
    if (is_direct) {
      PanelProduct(layout, pixels, g.stride, dx.stride)(g_rows.data, panels, dx.data + begin * dx.stride);
      return;
    }
    float* result = result_scratch.floats(pixels * columns);
    PanelProduct(layout, pixels, g.stride, columns)(g_rows.data, panels, result);
    patches.scatter(begin, end, result, dx);
  });
  const auto total = [&](int64_t i) {
    float sum = 0;
    for (int64_t thread = 0; thread < threads; ++thread) {
      if (is_used[thread]) sum += sums[thread * filter_floats + i];
    }
    return sum;
  };
  const int64_t taps = w.kernel * w.kernel;
  at::parallel_for(0, w.out, 1 + 16384 / columns, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < w.in; ++c)
          *gradients.filters.at(k, c, tap) = total(k * columns + tap * w.in + c);
      }
    }
  });
  if (gradients.bias != nullptr) channel_sums(g, gradients.bias);
}

}  // namespace batchplus::kernels
