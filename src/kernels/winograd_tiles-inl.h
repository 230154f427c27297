// The maps' side of Winograd's convolution: tiles into points and back.

#if defined(BATCHPLUS_KERNELS_WINOGRAD_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHPLUS_KERNELS_WINOGRAD_TILES_INL_H
#undef BATCHPLUS_KERNELS_WINOGRAD_TILES_INL_H
#else
#define BATCHPLUS_KERNELS_WINOGRAD_TILES_INL_H
#endif

#include <hwy/cache_control.h>

#include "kernels/convolution_pass.h"
#include "kernels/scratch.h"
#include "kernels/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {

using simd::kLanes;
using simd::Vector;

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

HWY_INLINE Points make_points(Scratch& scratch, int64_t points, int64_t tiles, int64_t channels) {
  // Without a gap the points of one tile would fall into the same lines of the cache.
  constexpr int64_t kGap = 16;
  const int64_t padded = round_up(channels, kLanes);
  const int64_t point_stride = tiles * padded + kGap;
  return {scratch.floats(points * point_stride), point_stride, padded};
}

/// Where the pixels of a tile lie: those outside of the map on a page of their own.
template <int kSide, class Float>
struct PixelTable {
  Float* pixels[kSide * kSide];

  /// The tile's upper left corner is at (y, x) of a map.
  HWY_INLINE void aim(const MapsOf<Float>& maps, Float* sample, int64_t y, int64_t x, Float* outside) {
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

inline thread_local Scratch page_scratch;
inline thread_local Scratch sample_scratch;

/// A page for the pixels outside.
HWY_INLINE float* zeros(int64_t channels) {
  float* page = page_scratch.floats(round_up(channels, kLanes));
  std::fill_n(page, round_up(channels, kLanes), 0.0F);
  return page;
}

/// dst = max(0, scale * src + shift) for one sample.
HWY_INLINE void normalize_sample(const ConvolutionInput& x, int64_t sample, float* dst) {
  const float* src = x.maps.sample(sample);
  const int64_t channels = x.maps.channels;
  for (int64_t i = 0; i < x.maps.pixels(); ++i, src += x.maps.stride, dst += channels) {
    simd::for_vectors(channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
      constexpr bool kIsFull = decltype(full)::value;
      const Vector v =
          simd::mul_add(simd::load<kIsFull>(src + c, count), simd::load<kIsFull>(x.scale + c, count),
                        simd::load<kIsFull>(x.shift + c, count));
      simd::store<kIsFull>(dst + c, simd::relu(v), count);
    });
  }
}

/// Tiles of kTile x kTile outputs, which depend on kSide x kSide inputs.
template <int kTile>
class Tiles {
 public:
  static constexpr int kSide = kTile + 2;
  static constexpr int64_t kFloatsOfLine = 16;
  using Filtering = simd::Filtering<kTile>;

  explicit Tiles(const TileGrid& grid) : grid_(grid) {}

  /// B^T d B. Tile t goes to place t - first.
  void inputs(const ConvolutionInput& x, const TileRange& tiles, int64_t first, const Points& v) const {
    const float* outside = zeros(x.maps.channels);
    ConstMaps maps = x.maps;
    int64_t normalized = -1;
    if (x.scale != nullptr) maps.stride = maps.channels;
    PixelTable<kSide, const float> table;
    for_each(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) HWY_ATTR {
      const float* data = x.maps.sample(sample);
      if (x.scale != nullptr) {
        float* copy = sample_scratch.floats(maps.pixels() * maps.channels);
        if (normalized != sample) normalize_sample(x, sample, copy);
        normalized = sample;
        data = copy;
      }
      if (x.scale == nullptr) fetch_ahead(maps, t);
      table.aim(maps, data, y0 - 1, x0 - 1, outside);
      float* to = v.tile(t - first);
      simd::for_vectors(maps.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kSide, kSide, Vector>(
            [](const auto& d, auto& out) HWY_ATTR { Filtering::inputs(d, out); },
            [&](int i, int j)
                HWY_ATTR { return simd::load<kIsFull>(table.pixels[i * kSide + j] + c, count); },
            [&](int i, int j, Vector value)
                HWY_ATTR { simd::store(to + (i * kSide + j) * v.point_stride + c, value); });
      });
    });
  }

  /// B v B^T, added up where tiles overlap.
  void inputs_back(const Points& v, const TileRange& tiles, int64_t first, const Maps& gradient) const {
    float* outside = zeros(gradient.channels);
    PixelTable<kSide, float> table;
    for_each(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) HWY_ATTR {
      float* data = gradient.sample(sample);
      if (y0 == 0 && x0 == 0) clear(gradient, data);
      table.aim(gradient, data, y0 - 1, x0 - 1, outside);
      const float* from = v.tile(t - first);
      simd::for_vectors(gradient.channels, [&](int64_t c, int64_t count, auto full) HWY_ATTR {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kSide, kSide, Vector>(
            [](const auto& points, auto& d) HWY_ATTR { Filtering::inputs_transposed(points, d); },
            [&](int i, int j) HWY_ATTR { return simd::load(from + (i * kSide + j) * v.point_stride + c); },
            [&](int i, int j, Vector value) HWY_ATTR {
              float* pixel = table.pixels[i * kSide + j] + c;
              simd::store<kIsFull>(pixel, simd::load<kIsFull>(pixel, count) + value, count);
            });
      });
    });
  }

  /// A^T m A + bias.
  void outputs(const Points& m, const TileRange& tiles, int64_t first, const float* bias,
               const Maps& y) const {
    float* outside = zeros(y.channels);
    PixelTable<kTile, float> table;
    for_each(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) HWY_ATTR {
      table.aim(y, y.sample(sample), y0, x0, outside);
      const float* from = m.tile(t - first);
      simd::for_vectors(y.channels, [&](int64_t k, int64_t count, auto full) HWY_ATTR {
        constexpr bool kIsFull = decltype(full)::value;
        const Vector offset = bias != nullptr ? simd::load<kIsFull>(bias + k, count) : simd::zero();
        simd::transform_square<kSide, kTile, Vector>(
            [](const auto& points, auto& out) HWY_ATTR { Filtering::outputs(points, out); },
            [&](int i, int j) HWY_ATTR { return simd::load(from + (i * kSide + j) * m.point_stride + k); },
            [&](int i, int j, Vector value)
                HWY_ATTR { simd::store<kIsFull>(table.pixels[i * kTile + j] + k, value + offset, count); });
      });
    });
  }

  /// A g A^T.
  void gradients(const ConstMaps& g, const TileRange& tiles, int64_t first, const Points& m) const {
    const float* outside = zeros(g.channels);
    PixelTable<kTile, const float> table;
    for_each(tiles, [&](int64_t t, int64_t sample, int64_t y0, int64_t x0) HWY_ATTR {
      fetch_ahead(g, t);
      table.aim(g, g.sample(sample), y0, x0, outside);
      float* to = m.tile(t - first);
      simd::for_vectors(g.channels, [&](int64_t k, int64_t count, auto full) HWY_ATTR {
        constexpr bool kIsFull = decltype(full)::value;
        simd::transform_square<kTile, kSide, Vector>(
            [](const auto& outputs, auto& points)
                HWY_ATTR { Filtering::outputs_transposed(outputs, points); },
            [&](int i, int j)
                HWY_ATTR { return simd::load<kIsFull>(table.pixels[i * kTile + j] + k, count); },
            [&](int i, int j, Vector value)
                HWY_ATTR { simd::store(to + (i * kSide + j) * m.point_stride + k, value); });
      });
    });
  }

 private:
  /// Has the processor load a tile's share of the pixels of the tiles that come two rows of tiles later: it
  /// does not foresee the jumps between a tile's rows.
  HWY_INLINE void fetch_ahead(const ConstMaps& maps, int64_t t) const {
    constexpr int64_t kShare = kTile * kTile;
    const int64_t first = (t + 2 * grid_.columns()) * kShare;
    const int64_t last = std::min(first + kShare, maps.all_pixels());
    for (int64_t pixel = first; pixel < last; ++pixel) {
      const float* values = maps.data + pixel * maps.stride;
      for (int64_t c = 0; c < maps.channels; c += kFloatsOfLine) hwy::Prefetch(values + c);
    }
  }

  /// Runs body(t, sample, y, x) with the upper left output of each tile.
  template <class Body>
  HWY_INLINE void for_each(const TileRange& tiles, const Body& body) const {
    for (int64_t t = tiles.begin; t < tiles.end; ++t) {
      const int64_t sample = t / grid_.per_sample();
      const int64_t place = t % grid_.per_sample();
      body(t, sample, place / grid_.columns() * kTile, place % grid_.columns() * kTile);
    }
  }

  static void clear(const Maps& maps, float* sample) {
    if (maps.stride == maps.channels) {
      std::fill_n(sample, maps.pixels() * maps.channels, 0.0F);
      return;
    }
    for (int64_t i = 0; i < maps.pixels(); ++i) std::fill_n(sample + i * maps.stride, maps.channels, 0.0F);
  }

  TileGrid grid_;
};

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#endif  // BATCHPLUS_KERNELS_WINOGRAD_TILES_INL_H
