#include "kernels/unfolded_convolution.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/batch_norm.h"
#include "kernels/product.h"
#include "kernels/sample_share.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unfolded_convolution.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::EightFloats;
using simd::kLanes;
using simd::Vector;
constexpr int64_t kEight = 8;

thread_local Scratch patch_scratch;
thread_local Scratch result_scratch;
thread_local Scratch panel_scratch;
thread_local Scratch gradient_scratch;

/// Runs body(begin, end) for blocks of output pixels from `first` to `last`. Sizes do not depend on the
/// instruction set.
template <class Body>
void for_blocks(int64_t first, int64_t last, int64_t depth, const Body& body) {
  constexpr int64_t kFloats = 64 * 1024;
  constexpr int64_t kLeast = 32;
  constexpr int64_t kMost = 256;
  const int64_t size = std::clamp(kFloats / round_up(depth, simd::kMostLanes), kLeast, kMost);
  for (int64_t i = first; i < last; i += size) body(i, std::min(i + size, last));
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

  /// In this thread's memory, or where the maps lie if that is as good.
  Rows gather(int64_t begin, int64_t end) const {
    const ConstMaps& maps = x_.maps;
    const bool is_whole = maps.channels % kLanes == 0;
    if (is_pointwise() && x_.scale == nullptr && is_whole)
      return {maps.data + begin * maps.stride, maps.stride};
    float* patches = patch_scratch.floats((end - begin) * stride());
    gather_into(begin, end, patches);
    return {patches, stride()};
  }

  void gather_into(int64_t begin, int64_t end, float* to) const {
    for (int64_t i = begin; i < end; ++i, to += stride()) {
      const int64_t sample = i / (height_ * width_);
      const int64_t place = i % (height_ * width_);
      if (is_pointwise()) {
        copy_pixel(x_.maps.data + i * x_.maps.stride, to);
      } else {
        copy_patch(sample, place / width_ * geometry_.stride - geometry_.padding,
                   place % width_ * geometry_.stride - geometry_.padding, to);
      }
      std::fill(to + depth(), to + stride(), 0.0F);
    }
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
        simd::for_vectors(gradient.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
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
    simd::for_vectors(x_.maps.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      Vector v = simd::load<kIsFull>(from + c, count);
      if (x_.scale != nullptr) {
        v = simd::relu(simd::mul_add(v, simd::load<kIsFull>(x_.scale + c, count),
                                     simd::load<kIsFull>(x_.shift + c, count)));
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
  const int64_t grain = 1 + 16384 / layout.depth / kEight;
  at::parallel_for(0, layout.columns / kEight, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t k0 = begin * kEight; k0 < end * kEight; k0 += kEight) {
      const int64_t filters = std::min(kEight, w.out - k0);
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < w.in; c += kEight) {
          const int64_t count = std::min(kEight, w.in - c);
          EightFloats rows[kEight];
          for (int64_t k = 0; k < kEight; ++k) {
            HWY_ALIGN float lanes[kEight] = {};
            if (k < filters) {
              const float* from = w.at(k0 + k, c, tap);
              for (int64_t i = 0; i < count; ++i) lanes[i] = from[i * w.in_stride];
            }
            rows[k] = simd::hn::Load(simd::Eight(), lanes);
          }
          simd::transpose(rows);
          for (int64_t i = 0; i < count; ++i)
            simd::hn::StoreU(rows[i], simd::Eight(), panels + layout.offset(tap * w.in + c + i, k0));
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

/// Pixels that a product sums at a time.
constexpr int64_t kPixelBlock = 256;

/// sum: [filters][columns of patches] (+)= g^T patches, for the filters from `begin` to `end`.
void add_gradient(const Rows& g, int64_t begin, int64_t end, const Rows& patches, int64_t columns,
                  int64_t pixels, bool is_accumulating, float* sum) {
  constexpr int64_t kColumns = 64;
  constexpr int64_t kRows = 64;
  for (int64_t c = 0; c < columns; c += kColumns) {
    for (int64_t k = begin; k < end; k += kRows) {
      for (int64_t i = 0; i < pixels; i += kPixelBlock) {
        const Product product({.rows = std::min(kRows, end - k),
                               .columns = std::min(kColumns, columns - c),
                               .depth = std::min(kPixelBlock, pixels - i),
                               .a_stride = g.stride,
                               .b_stride = patches.stride,
                               .c_stride = columns,
                               .is_a_transposed = true,
                               .is_accumulating = is_accumulating || i > 0});
        product(g.data + i * g.stride + k, patches.data + i * patches.stride + c, sum + k * columns + c);
      }
    }
  }
}

/// The same for `out` filters, shared out among the threads.
void add_gradient_by_filters(const Rows& g, int64_t out, const Rows& patches, int64_t columns, int64_t pixels,
                             bool is_accumulating, float* sum) {
  constexpr int64_t kFilters = 16;
  at::parallel_for(0, (out + kFilters - 1) / kFilters, 1, [&](int64_t begin, int64_t end) {
    add_gradient(g, begin * kFilters, std::min(end * kFilters, out), patches, columns, pixels,
                 is_accumulating, sum);
  });
}

/// The gradient with respect to the maps, where it is wanted.
struct InputsGradient {
  InputsGradient(const Patches& patches, const ConstFilters& w, const Maps& gradient)
      : maps(gradient),
        layout{w.out, patches.stride()},
        is_direct(patches.is_pointwise() && w.in % kLanes == 0) {
    if (maps.data == nullptr) return;
    panels = panel_scratch.floats(layout.floats());
    pack_filters_transposed(w, layout, panels);
  }
  bool is_wanted() const { return panels != nullptr; }

  /// Of the pixels from `begin` to `end`, whose samples nobody else adds to.
  void compute(const Patches& patches, const Rows& g, int64_t begin, int64_t end) const {
    const int64_t pixels = end - begin;
    if (is_direct) {
      PanelProduct(layout, pixels, g.stride, maps.stride)(g.data, panels, maps.data + begin * maps.stride);
      return;
    }
    float* result = result_scratch.floats(pixels * layout.columns);
    PanelProduct(layout, pixels, g.stride, layout.columns)(g.data, panels, result);
    patches.scatter(begin, end, result, maps);
  }

  Maps maps;
  PanelLayout layout;
  bool is_direct;
  float* panels = nullptr;
};

/// Where the filters' gradients are summed: [parts][out][columns].
struct FilterSums {
  float* data;
  int64_t out;
  int64_t columns;
  int64_t parts;

  float* part(int64_t i) const { return data + i * out * columns; }

  void write_to(const Filters& gradient) const {
    const int64_t taps = gradient.kernel * gradient.kernel;
    at::parallel_for(0, out, 1 + 16384 / columns, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t c = 0; c < gradient.in; ++c) {
            const int64_t place = k * columns + tap * gradient.in + c;
            *gradient.at(k, c, tap) = add_parts<float>(parts, [&](int64_t i) { return part(i)[place]; });
          }
        }
      }
    });
  }
};

/// Pixels of maps as the rows of a matrix.
Rows rows_from(const ConstMaps& maps, int64_t pixel) {
  return {maps.data + pixel * maps.stride, maps.stride};
}

/// The gradients with respect to filters and, where wanted, maps.
void backward_with_filters(const Patches& patches, const ConstFilters& w, const ConstMaps& g,
                           const InputsGradient& inputs, const Filters& gradient, int64_t most_parts) {
  const int64_t columns = patches.stride();
  const Parts parts = sample_parts(g.samples, most_parts);
  FilterSums sums{gradient_scratch.floats(parts.number() * w.out * columns), w.out, columns, parts.number()};
  const auto rows_of = [&](int64_t pixel) { return rows_from(g, pixel); };
  if (most_parts == 1) {
    // All threads gather the patches of a block of samples, then each sums some of the filters over them.
    constexpr int64_t kFloats = int64_t{4} << 20;
    const int64_t block =
        std::max<int64_t>(1, kFloats / (g.pixels() * round_up(patches.depth(), simd::kMostLanes)));
    for (int64_t first = 0; first < g.samples; first += block) {
      const int64_t last = std::min(first + block, g.samples);
      const int64_t begin_pixel = first * g.pixels();
      const int64_t pixels = (last - first) * g.pixels();
      float* shared = patch_scratch.floats(pixels * columns);
      at::parallel_for(first, last, 1, [&](int64_t begin, int64_t end) {
        for_blocks(begin * g.pixels(), end * g.pixels(), patches.depth(), [&](int64_t from, int64_t to) {
          patches.gather_into(from, to, shared + (from - begin_pixel) * columns);
          if (inputs.is_wanted()) inputs.compute(patches, rows_of(from), from, to);
        });
      });
      add_gradient_by_filters(rows_of(begin_pixel), w.out, {shared, columns}, columns, pixels, first > 0,
                              sums.data);
    }
  } else {
    at::parallel_for(0, parts.number(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        bool is_accumulating = false;
        for_blocks(parts.begin(part) * g.pixels(), parts.end(part) * g.pixels(), patches.depth(),
                   [&](int64_t from, int64_t to) {
                     const Rows rows = patches.gather(from, to);
                     add_gradient(rows_of(from), 0, w.out, rows, columns, to - from, is_accumulating,
                                  sums.part(part));
                     is_accumulating = true;
                     if (inputs.is_wanted()) inputs.compute(patches, rows_of(from), from, to);
                   });
      }
    });
    sums.parts = meet_parts(sums.data, w.out * columns, parts.number());
  }
  sums.write_to(gradient);
}

/// The gradient with respect to maps alone.
void backward_of_inputs(const Patches& patches, const ConstMaps& g, const InputsGradient& inputs) {
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for_blocks(begin * g.pixels(), end * g.pixels(), patches.depth(),
               [&](int64_t from, int64_t to) { inputs.compute(patches, rows_from(g, from), from, to); });
  });
}

}  // namespace

void unfolded_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                      const float* bias, const Maps& y) {
  const Patches patches(geometry, x, y);
  const PanelLayout layout{patches.depth(), round_up(w.out, kLanes)};
  float* panels = panel_scratch.floats(layout.floats());
  pack_filters(w, layout, panels);
  const bool is_direct = bias == nullptr && w.out % kLanes == 0;
  const auto compute = [&](int64_t begin, int64_t end) HWY_ATTR {
    const int64_t pixels = end - begin;
    const Rows rows = patches.gather(begin, end);
    float* to = y.data + begin * y.stride;
    if (is_direct) {
      PanelProduct(layout, pixels, rows.stride, y.stride)(rows.data, panels, to);
      return;
    }
    float* result = result_scratch.floats(pixels * layout.columns);
    PanelProduct(layout, pixels, rows.stride, layout.columns)(rows.data, panels, result);
    for (int64_t i = 0; i < pixels; ++i, to += y.stride, result += layout.columns) {
      simd::for_vectors(w.out, [&](int64_t k, int64_t count, auto full) HWY_ATTR {
        constexpr bool kIsFull = decltype(full)::value;
        Vector v = simd::load(result + k);
        if (bias != nullptr) v = v + simd::load<kIsFull>(bias + k, count);
        simd::store<kIsFull>(to + k, v, count);
      });
    }
  };
  at::parallel_for(0, y.samples, 1, [&](int64_t begin, int64_t end) {
    for_blocks(begin * y.pixels(), end * y.pixels(), patches.depth(), compute);
  });
}

void unfolded_backward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& g, const ConvolutionGradients& gradients) {
  const Patches patches(geometry, x, {nullptr, g.samples, g.height, g.width, g.channels, g.stride});
  const InputsGradient inputs(patches, w, gradients.input);
  if (gradients.filters.data != nullptr) {
    const int64_t parts = gradients.filter_parts > 0 ? gradients.filter_parts
                                                     : unfolded_filter_parts(whole_samples(g.samples), w);
    backward_with_filters(patches, w, g, inputs, gradients.filters, parts);
  } else if (inputs.is_wanted()) {
    backward_of_inputs(patches, g, inputs);
  }
  if (gradients.bias != nullptr) channel_sums(g, gradients.bias);
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(unfolded_forward);
HWY_EXPORT(unfolded_backward);

int64_t unfolded_filter_parts(int64_t samples, const ConstFilters& w) {
  // Each part takes memory for filters.
  constexpr int64_t kLargeFilters = int64_t{1} << 16;
  constexpr int64_t kDepthStep = 16;
  const int64_t depth = w.in * w.kernel * w.kernel;
  const bool is_large = w.out * round_up(depth, kDepthStep) > kLargeFilters || samples < Parts::kFewest;
  return is_large ? 1 : Parts::kFewest;
}

void unfolded_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                      const float* bias, const Maps& y) {
  HWY_DYNAMIC_DISPATCH(unfolded_forward)(geometry, x, w, bias, y);
}

void unfolded_backward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& g, const ConvolutionGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(unfolded_backward)(geometry, x, w, g, gradients);
}

}  // namespace batchplus::kernels
#endif
