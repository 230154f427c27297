#include "kernels/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "kernels/batch_norm.h"
#include "kernels/product.h"
#include "kernels/scratch.h"
#include "kernels/winograd_transforms.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

using simd::kLanes;
using simd::Vector;

/// Floats between two points of a transform beyond what they hold: without them the points of one tile would
/// fall into the same lines of the cache.
constexpr int64_t kPointGap = 16;

/// Filters of so many floats after the transform are multiplied by one thread a point instead of by all
/// threads, each for its own samples.
constexpr int64_t kLargeFilters = int64_t{1} << 19;

/// Tiles of all samples, in order.
struct TileGrid {
  int64_t samples;
  int64_t height;
  int64_t width;
  int64_t side;

  int64_t rows() const { return (height + side - 1) / side; }
  int64_t columns() const { return (width + side - 1) / side; }
  int64_t per_sample() const { return rows() * columns(); }
  int64_t count() const { return samples * per_sample(); }
};

/// Consecutive tiles.
struct TileRange {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

/// Transformed maps of some tiles: [points][tiles][channels rounded up].
struct Points {
  float* data;
  int64_t point_stride;
  int64_t tile_stride;

  float* tile(int64_t t) const { return data + t * tile_stride; }
  float* point(int64_t p) const { return data + p * point_stride; }
};

Points make_points(Scratch& scratch, int64_t points, int64_t tiles, int64_t channels) {
  const int64_t padded = round_up(channels, kLanes);
  const int64_t point_stride = tiles * padded + kPointGap;
  return {scratch.floats(points * point_stride), point_stride, padded};
}

/// Where the pixels of a tile lie: those outside of the map on a page of their own.
template <int kSide, class Float>
struct PixelTable {
  Float* pixels[kSide * kSide];

  /// The tile's upper left corner is at (y, x) of a map.
  void aim(const MapsOf<Float>& maps, Float* sample, int64_t y, int64_t x, Float* outside) {
    for (int i = 0; i < kSide; ++i) {
      const bool is_row = y + i >= 0 && y + i < maps.height;
      Float* row = sample + (y + i) * maps.width * maps.stride;
      for (int j = 0; j < kSide; ++j) {
        const bool is_inside = is_row && x + j >= 0 && x + j < maps.width;
        pixels[i * kSide + j] = is_inside ? row + (x + j) * maps.stride : outside;
      }
    }
  }
};

/// A page for the pixels outside.
float* zeros(Scratch& scratch, int64_t channels) {
  float* page = scratch.floats(round_up(channels, kLanes));
  std::fill_n(page, round_up(channels, kLanes), 0.0F);
  return page;
}

/// dst = max(0, scale * src + shift) for one sample.
void normalize_sample(const ConvolutionInput& x, int64_t sample, float* dst) {
  const float* src = x.maps.sample(sample);
  const int64_t channels = x.maps.channels;
  for (int64_t i = 0; i < x.maps.pixels(); ++i, src += x.maps.stride, dst += channels) {
    simd::for_vectors(channels, [&](int64_t c, int64_t count, auto full) {
      constexpr bool kIsFull = decltype(full)::value;
      const Vector v = simd::load<kIsFull>(src + c, count) * simd::load<kIsFull>(x.scale + c, count) +
                       simd::load<kIsFull>(x.shift + c, count);
      simd::store<kIsFull>(dst + c, simd::relu(v), count);
    });
  }
}

thread_local Scratch page_scratch;
thread_local Scratch sample_scratch;
thread_local Scratch input_scratch;
thread_local Scratch output_scratch;
thread_local Scratch filter_scratch;
thread_local Scratch gradient_scratch;

template <int kTile>
class Winograd {
 public:
  static constexpr int kSide = kTile + 2;
  static constexpr int kPoints = kSide * kSide;
  using Filtering = simd::Filtering<kTile>;

  // Lambdas, because transform_square takes functions as objects.
  static constexpr auto kInputs = [](const auto& d, auto& v) __attribute__((always_inline)) {
    Filtering::inputs(d, v);
  };
  static constexpr auto kInputsTransposed = [](const auto& v, auto& d) __attribute__((always_inline)) {
    Filtering::inputs_transposed(v, d);
  };
  static constexpr auto kOutputs = [](const auto& m, auto& y) __attribute__((always_inline)) {
    Filtering::outputs(m, y);
  };
  static constexpr auto kOutputsTransposed = [](const auto& g, auto& m) __attribute__((always_inline)) {
    Filtering::outputs_transposed(g, m);
  };
  static constexpr auto kFilters = [](const auto& w, auto& u) __attribute__((always_inline)) {
    Filtering::filters(w, u);
  };
  static constexpr auto kFiltersTransposed = [](const auto& u, auto& w) __attribute__((always_inline)) {
    Filtering::filters_transposed(u, w);
  };

  explicit Winograd(const ConstMaps& maps) : grid_{maps.samples, maps.height, maps.width, kTile} {}

  void forward(const ConvolutionInput& x, const ConstFilters& w, const float* bias, const Maps& y) const {
    const PanelLayout layout{w.in, round_up(w.out, kLanes)};
    float* u = filter_scratch.floats(kPoints * layout.floats());
    transform_filters(w, layout, u);
    const auto multiply = [&](const Points& v, const Points& m, int64_t tiles, int64_t first, int64_t last) {
      const PanelProduct product(layout, tiles, v.tile_stride, m.tile_stride);
      for (int64_t p = first; p < last; ++p) product(v.point(p), u + p * layout.floats(), m.point(p));
    };
    if (kPoints * layout.floats() < kLargeFilters) {
      for_blocks(w, [&](const TileRange& tiles) {
        const Points v = make_points(input_scratch, kPoints, tiles.size(), w.in);
        const Points m = make_points(output_scratch, kPoints, tiles.size(), w.out);
        transform_inputs(x, tiles, tiles.begin, v);
        multiply(v, m, tiles.size(), 0, kPoints);
        transform_outputs(m, tiles, tiles.begin, bias, y);
      });
      return;
    }
    for_large_blocks(w, [&](const TileRange& block) {
      const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
      const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
      for_samples(block, [&](const TileRange& tiles) { transform_inputs(x, tiles, block.begin, v); });
      at::parallel_for(0, kPoints, 1,
                       [&](int64_t begin, int64_t end) { multiply(v, m, block.size(), begin, end); });
      for_samples(block, [&](const TileRange& tiles) { transform_outputs(m, tiles, block.begin, bias, y); });
    });
  }

  void backward(const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& g,
                const ConvolutionGradients& gradients) const {
    const int64_t in = round_up(w.in, kLanes);
    const PanelLayout layout{w.out, in};
    float* u = nullptr;
    if (gradients.input.data != nullptr) {
      u = filter_scratch.floats(kPoints * layout.floats());
      transform_filters_transposed(w, layout, u);
    }
    const int64_t filter_floats = kPoints * w.out * in;
    const bool is_large = filter_floats >= kLargeFilters;
    const int64_t parts = is_large ? 1 : at::get_num_threads();
    float* sums = gradient_scratch.floats(parts * filter_floats);

    const auto multiply = [&](const Points& v, const Points& m, int64_t tiles, int64_t first, int64_t last) {
      const PanelProduct product(layout, tiles, m.tile_stride, v.tile_stride);
      for (int64_t p = first; p < last; ++p) product(m.point(p), u + p * layout.floats(), v.point(p));
    };
    /// Adds to the sums of the filters' gradients, or sets them.
    const auto add_products = [&](const Points& v, const Points& m, int64_t tiles, int64_t first,
                                  int64_t last, bool is_accumulating, float* sum) {
      for (int64_t p = first; p < last; ++p) {
        add_gradient(w, v.point(p), v.tile_stride, m.point(p), m.tile_stride, tiles, is_accumulating,
                     sum + p * w.out * in);
      }
    };
    if (!is_large) {
      bool is_used[256] = {};
      BATCHPLUS_CHECK(parts <= 256, "a flag for each thread");
      for_blocks(w, [&](const TileRange& tiles) {
        const int64_t thread = at::get_thread_num();
        const Points v = make_points(input_scratch, kPoints, tiles.size(), w.in);
        const Points m = make_points(output_scratch, kPoints, tiles.size(), w.out);
        transform_inputs(x, tiles, tiles.begin, v);
        transform_gradients(g, tiles, tiles.begin, m);
        add_products(v, m, tiles.size(), 0, kPoints, is_used[thread], sums + thread * filter_floats);
        is_used[thread] = true;
        if (u == nullptr) return;
        multiply(v, m, tiles.size(), 0, kPoints);
        transform_inputs_back(v, tiles, tiles.begin, gradients.input);
      });
      for (int64_t part = 1; part < parts; ++part) {
        if (!is_used[part]) continue;
        const float* from = sums + part * filter_floats;
        at::parallel_for(0, filter_floats, 1 << 15, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sums[i] += from[i];
        });
      }
    } else {
      for_large_blocks(w, [&](const TileRange& block) {
        const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
        const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
        for_samples(block, [&](const TileRange& tiles) {
          transform_inputs(x, tiles, block.begin, v);
          transform_gradients(g, tiles, block.begin, m);
        });
        at::parallel_for(0, kPoints, 1, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            add_products(v, m, block.size(), p, p + 1, block.begin > 0, sums);
            if (u != nullptr) multiply(v, m, block.size(), p, p + 1);
          }
        });
        if (u == nullptr) return;
        for_samples(block, [&](const TileRange& tiles) {
          transform_inputs_back(v, tiles, block.begin, gradients.input);
        });
      });
    }
    transform_filters_back(sums, in, gradients.filters);
    if (gradients.bias != nullptr) channel_sums(g, gradients.bias);
  }

 private:
  /// So many tiles that their points stay in the second cache, and enough for the products to be fast.
  static int64_t block_size(const ConstFilters& w) {
    constexpr int64_t kFloats = 96 * 1024;
    constexpr int64_t kLeast = 24;
    constexpr int64_t kMost = 64;
    return std::clamp(kFloats / (kPoints * (round_up(w.in, kLanes) + round_up(w.out, kLanes))), kLeast,
                      kMost);
  }

  /// Runs body(tiles) for blocks of tiles; a thread's blocks are consecutive and cover whole samples.
  template <class Body>
  void for_blocks(const ConstFilters& w, const Body& body) const {
    const int64_t size = block_size(w);
    at::parallel_for(0, grid_.samples, 1, [&](int64_t begin, int64_t end) {
      const int64_t last = end * grid_.per_sample();
      for (int64_t t = begin * grid_.per_sample(); t < last; t += size)
        body(TileRange{t, std::min(t + size, last)});
    });
  }

  /// Runs body(tiles) for blocks of whole samples that fill the last cache, one after the other.
  template <class Body>
  void for_large_blocks(const ConstFilters& w, const Body& body) const {
    constexpr int64_t kFloats = int64_t{6} << 20;
    const int64_t tile = kPoints * (round_up(w.in, kLanes) + round_up(w.out, kLanes));
    const int64_t samples = std::max<int64_t>(1, kFloats / (tile * grid_.per_sample()));
    const int64_t size = samples * grid_.per_sample();
    for (int64_t t = 0; t < grid_.count(); t += size) body(TileRange{t, std::min(t + size, grid_.count())});
  }

  /// Runs body(tiles) for each thread's whole samples of the block.
  template <class Body>
  void for_samples(const TileRange& block, const Body& body) const {
    const int64_t each = grid_.per_sample();
    at::parallel_for(block.begin / each, block.end / each, 1, [&](int64_t begin, int64_t end) {
      body(TileRange{begin * each, end * each});
    });
  }

  /// Runs body(t, sample, y, x) with the upper left output of each tile.
  template <class Body>
  void for_tiles(const TileRange& tiles, const Body& body) const {
    for (int64_t t = tiles.begin; t < tiles.end; ++t) {
      const int64_t sample = t / grid_.per_sample();
      const int64_t place = t % grid_.per_sample();
      body(t, sample, place / grid_.columns() * kTile, place % grid_.columns() * kTile);
    }
  }

  /// B^T d B. Tile t goes to place t - first.
  void transform_inputs(const ConvolutionInput& x, const TileRange& tiles, int64_t first,
                        const Points& v) const {
    const float* outside = zeros(page_scratch, x.maps.channels);
    ConstMaps maps = x.maps;
    int64_t normalized = -1;
    if (x.scale != nullptr) maps.stride = maps.channels;
    PixelTable<kSide, const float> table;
    for_tiles(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) {
      const float* data = x.maps.sample(sample);
      if (x.scale != nullptr) {
        float* copy = sample_scratch.floats(maps.pixels() * maps.channels);
        if (normalized != sample) normalize_sample(x, sample, copy);
        normalized = sample;
        data = copy;
      }
      table.aim(maps, data, y0 - 1, x0 - 1, outside);
      float* to = v.tile(t - first);
      simd::for_vectors(maps.channels, [&](int64_t c, int64_t count, auto full) {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kSide, kSide>(
            kInputs,
            [&](int i, int j) __attribute__((always_inline)) {
              return simd::load<kIsFull>(table.pixels[i * kSide + j] + c, count);
            },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              _mm256_storeu_ps(to + (i * kSide + j) * v.point_stride + c, value);
            });
      });
    });
  }

  /// B v B^T, added up where tiles overlap.
  void transform_inputs_back(const Points& v, const TileRange& tiles, int64_t first,
                             const Maps& gradient) const {
    float* outside = zeros(page_scratch, gradient.channels);
    PixelTable<kSide, float> table;
    for_tiles(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) {
      float* data = gradient.sample(sample);
      if (y0 == 0 && x0 == 0) clear(gradient, data);
      table.aim(gradient, data, y0 - 1, x0 - 1, outside);
      const float* from = v.tile(t - first);
      simd::for_vectors(gradient.channels, [&](int64_t c, int64_t count, auto full) {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kSide, kSide>(
            kInputsTransposed,
            [&](int i, int j) __attribute__((always_inline)) {
              return _mm256_loadu_ps(from + (i * kSide + j) * v.point_stride + c);
            },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              float* pixel = table.pixels[i * kSide + j] + c;
              simd::store<kIsFull>(pixel, simd::load<kIsFull>(pixel, count) + value, count);
            });
      });
    });
  }

  static void clear(const Maps& maps, float* sample) {
    if (maps.stride == maps.channels) {
      std::fill_n(sample, maps.pixels() * maps.channels, 0.0F);
      return;
    }
    for (int64_t i = 0; i < maps.pixels(); ++i) std::fill_n(sample + i * maps.stride, maps.channels, 0.0F);
  }

  /// A^T m A + bias.
  void transform_outputs(const Points& m, const TileRange& tiles, int64_t first, const float* bias,
                         const Maps& y) const {
    float* outside = zeros(page_scratch, y.channels);
    PixelTable<kTile, float> table;
    for_tiles(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) {
      table.aim(y, y.sample(sample), y0, x0, outside);
      const float* from = m.tile(t - first);
      simd::for_vectors(y.channels, [&](int64_t k, int64_t count, auto full) {
        constexpr bool kIsFull = decltype(full)::value;
        const Vector offset = bias != nullptr ? simd::load<kIsFull>(bias + k, count) : _mm256_setzero_ps();
        simd::transform_square<kSide, kTile>(
            kOutputs,
            [&](int i, int j) __attribute__((always_inline)) {
              return _mm256_loadu_ps(from + (i * kSide + j) * m.point_stride + k);
            },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              simd::store<kIsFull>(table.pixels[i * kTile + j] + k, value + offset, count);
            });
      });
    });
  }

  /// A g A^T.
  void transform_gradients(const ConstMaps& g, const TileRange& tiles, int64_t first, const Points& m) const {
    const float* outside = zeros(page_scratch, g.channels);
    PixelTable<kTile, const float> table;
    for_tiles(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) {
      table.aim(g, g.sample(sample), y0, x0, outside);
      float* to = m.tile(t - first);
      simd::for_vectors(g.channels, [&](int64_t k, int64_t count, auto full) {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kTile, kSide>(
            kOutputsTransposed,
            [&](int i, int j) __attribute__((always_inline)) {
              return simd::load<kIsFull>(table.pixels[i * kTile + j] + k, count);
            },
            [&](int i, int j, Vector value) __attribute__((always_inline)) {
              _mm256_storeu_ps(to + (i * kSide + j) * m.point_stride + k, value);
            });
      });
    });
  }

  /// sum: [out][in rounded up] += M^T V over tiles.
  static void add_gradient(const ConstFilters& w, const float* v, int64_t v_stride, const float* m,
                           int64_t m_stride, int64_t tiles, bool is_accumulating, float* sum) {
    const int64_t in = round_up(w.in, kLanes);
    constexpr int64_t kColumns = 64;
    constexpr int64_t kRows = 64;
    constexpr int64_t kDepth = 128;
    for (int64_t c = 0; c < in; c += kColumns) {
      for (int64_t k = 0; k < w.out; k += kRows) {
        for (int64_t t = 0; t < tiles; t += kDepth) {
          const Product product({.rows = std::min(kRows, w.out - k),
                                 .columns = std::min(kColumns, in - c),
                                 .depth = std::min(kDepth, tiles - t),
                                 .a_stride = m_stride,
                                 .b_stride = v_stride,
                                 .c_stride = in,
                                 .is_a_transposed = true,
                                 .is_accumulating = is_accumulating || t > 0});
          product(m + t * m_stride + k, v + t * v_stride + c, sum + k * in + c);
        }
      }
    }
  }

  /// The 3x3 taps of 8 input channels of filter k.
  [[gnu::always_inline]] static Vector load_tap(const ConstFilters& w, int64_t k, int64_t c, int64_t count,
                                                int tap) {
    const float* from = w.at(k, c, tap);
    if (w.in_stride == 1 && count == kLanes) return _mm256_loadu_ps(from);
    alignas(32) float lanes[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = from[i * w.in_stride];
    return _mm256_load_ps(lanes);
  }

  /// u: for each point the panels of [out][in rounded up], for the gradient of the inputs.
  void transform_filters_transposed(const ConstFilters& w, const PanelLayout& layout, float* u) const {
    at::parallel_for(0, w.out, filter_grain(w), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t c = 0; c < w.in; c += kLanes) {
          const int64_t count = std::min(kLanes, w.in - c);
          float* to = u + layout.offset(k, c);
          simd::transform_square<3, kSide>(
              kFilters,
              [&](int i, int j)
                  __attribute__((always_inline)) { return load_tap(w, k, c, count, i * 3 + j); },
              [&](int i, int j, Vector value) __attribute__((always_inline)) {
                _mm256_storeu_ps(to + (i * kSide + j) * layout.floats(), value);
              });
        }
      }
    });
  }

  /// u: for each point the panels of [in][out rounded up].
  void transform_filters(const ConstFilters& w, const PanelLayout& layout, float* u) const {
    at::parallel_for(
        0, round_up(w.out, kLanes) / kLanes, filter_grain(w) / kLanes + 1, [&](int64_t begin, int64_t end) {
          alignas(32) float block[kPoints][kLanes][kLanes];
          for (int64_t k0 = begin * kLanes; k0 < end * kLanes; k0 += kLanes) {
            const int64_t filters = std::min(kLanes, w.out - k0);
            for (int64_t c = 0; c < w.in; c += kLanes) {
              const int64_t count = std::min(kLanes, w.in - c);
              for (int64_t k = 0; k < kLanes; ++k) {
                simd::transform_square<3, kSide>(
                    kFilters,
                    [&](int i, int j) __attribute__((always_inline)) {
                      return k < filters ? load_tap(w, k0 + k, c, count, i * 3 + j) : _mm256_setzero_ps();
                    },
                    [&](int i, int j, Vector value)
                        __attribute__((always_inline)) { _mm256_store_ps(block[i * kSide + j][k], value); });
              }
              for (int p = 0; p < kPoints; ++p) {
                Vector rows[kLanes];
#pragma GCC unroll 8
                for (int k = 0; k < kLanes; ++k) rows[k] = _mm256_load_ps(block[p][k]);
                simd::transpose(rows);
                float* to = u + p * layout.floats();
                for (int64_t i = 0; i < count; ++i) _mm256_storeu_ps(to + layout.offset(c + i, k0), rows[i]);
              }
            }
          }
        });
  }

  /// G^T u G: the filters' gradients from those of the points, [out][in rounded up] each.
  void transform_filters_back(const float* sums, int64_t in, const Filters& gradient) const {
    const int64_t point_stride = gradient.out * in;
    at::parallel_for(0, gradient.out, filter_grain(gradient), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t c = 0; c < gradient.in; c += kLanes) {
          const int64_t count = std::min(kLanes, gradient.in - c);
          const float* from = sums + k * in + c;
          simd::transform_square<kSide, 3>(
              kFiltersTransposed,
              [&](int i, int j) __attribute__((always_inline)) {
                return _mm256_loadu_ps(from + (i * kSide + j) * point_stride);
              },
              [&](int i, int j, Vector value) __attribute__((always_inline)) {
                float* to = gradient.at(k, c, i * 3 + j);
                if (gradient.in_stride == 1 && count == kLanes) {
                  _mm256_storeu_ps(to, value);
                } else {
                  alignas(32) float lanes[kLanes];
                  _mm256_store_ps(lanes, value);
                  for (int64_t i = 0; i < count; ++i) to[i * gradient.in_stride] = lanes[i];
                }
              });
        }
      }
    });
  }

  /// Filters that a thread transforms at least.
  static int64_t filter_grain(const ConstFilters& w) {
    return 1 + 16384 / (w.in * kPoints);
  }

  TileGrid grid_;
};

}  // namespace

void winograd_forward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w, const float* bias,
                      const Maps& y) {
  if (tile == WinogradTile::kTwo) {
    Winograd<2>(x.maps).forward(x, w, bias, y);
  } else {
    Winograd<4>(x.maps).forward(x, w, bias, y);
  }
}

void winograd_backward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients) {
  if (tile == WinogradTile::kTwo) {
    Winograd<2>(x.maps).backward(x, w, y_gradient, gradients);
  } else {
    Winograd<4>(x.maps).backward(x, w, y_gradient, gradients);
  }
}

}  // namespace batchplus::kernels
