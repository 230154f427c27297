#include "kernels/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/batch_norm.h"
#include "kernels/product.h"
#include "kernels/sample_share.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/winograd_filters-inl.h"
#include "kernels/winograd_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

thread_local Scratch input_scratch;
thread_local Scratch output_scratch;
thread_local Scratch filter_scratch;
thread_local Scratch gradient_scratch;

/// Floats of a tile's points, inputs and outputs together. Sizes of blocks follow from it, so it is the same
/// for all instruction sets.
int64_t floats_of_tile(const ConstFilters& w, int64_t points) {
  return points * (round_up(w.in, simd::kMostLanes) + round_up(w.out, simd::kMostLanes));
}

/// sum: [out][in rounded up] (+)= M^T V over tiles.
void add_gradient(const ConstFilters& w, const float* v, int64_t v_stride, const float* m, int64_t m_stride,
                  int64_t tiles, bool is_accumulating, float* sum) {
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

template <int kTile>
class Winograd {
 public:
  static constexpr int kPoints = (kTile + 2) * (kTile + 2);

  explicit Winograd(const ConstMaps& maps)
      : grid_{maps.samples, maps.height, maps.width, kTile}, tiles_(grid_) {}

  void forward(const ConvolutionInput& x, const ConstFilters& w, const float* bias, const Maps& y) const {
    const PanelLayout layout{w.in, round_up(w.out, kLanes)};
    float* u = filter_scratch.floats(kPoints * layout.floats());
    FilterTransforms<kTile>::transform(w, layout, u);
    const auto multiply = [&](const Points& v, const Points& m, int64_t tiles, int64_t first, int64_t last) {
      const PanelProduct product(layout, tiles, v.tile_stride, m.tile_stride);
      for (int64_t p = first; p < last; ++p) product(v.point(p), u + p * layout.floats(), m.point(p));
    };
    if (kPoints * layout.floats() < kLargeWinogradFilters) {
      at::parallel_for(0, grid_.samples, 1, [&](int64_t begin, int64_t end) {
        for_blocks(w, begin, end, [&](const TileRange& block) {
          const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
          const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
          tiles_.inputs(x, block, block.begin, v);
          multiply(v, m, block.size(), 0, kPoints);
          tiles_.outputs(m, block, block.begin, bias, y);
        });
      });
      return;
    }
    for_large_blocks(w, [&](const TileRange& block) {
      const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
      const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
      for_samples(block, [&](const TileRange& tiles) { tiles_.inputs(x, tiles, block.begin, v); });
      at::parallel_for(0, kPoints, 1,
                       [&](int64_t begin, int64_t end) { multiply(v, m, block.size(), begin, end); });
      for_samples(block, [&](const TileRange& tiles) { tiles_.outputs(m, tiles, block.begin, bias, y); });
    });
  }

  void backward(const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& g,
                const ConvolutionGradients& gradients) const {
    const InputsGradient inputs(w, gradients.input);
    if (gradients.filters.data != nullptr) {
      const int64_t parts = gradients.filter_parts > 0
                                ? gradients.filter_parts
                                : winograd_filter_parts(WinogradTile{kTile}, whole_samples(grid_.samples), w);
      backward_with_filters(x, w, g, inputs, gradients.filters, parts);
    } else if (inputs.is_wanted()) {
      backward_of_inputs(w, g, inputs);
    }
    if (gradients.bias != nullptr) channel_sums(g, gradients.bias);
  }

 private:
  /// The gradient with respect to the maps, where it is wanted.
  struct InputsGradient {
    InputsGradient(const ConstFilters& w, const Maps& gradient)
        : maps(gradient), layout{w.out, round_up(w.in, kLanes)} {
      if (maps.data == nullptr) return;
      u = filter_scratch.floats(kPoints * layout.floats());
      FilterTransforms<kTile>::transform_transposed(w, layout, u);
    }
    bool is_wanted() const { return u != nullptr; }
    void multiply(const Points& m, const Points& v, int64_t tiles, int64_t first, int64_t last) const {
      const PanelProduct product(layout, tiles, m.tile_stride, v.tile_stride);
      for (int64_t p = first; p < last; ++p) product(m.point(p), u + p * layout.floats(), v.point(p));
    }

    Maps maps;
    PanelLayout layout;
    float* u = nullptr;
  };

  void backward_with_filters(const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& g,
                             const InputsGradient& inputs, const Filters& gradient,
                             int64_t most_parts) const {
    const int64_t in = round_up(w.in, kLanes);
    const int64_t filter_floats = kPoints * w.out * in;
    const Parts parts = sample_parts(grid_.samples, most_parts);
    float* sums = gradient_scratch.floats(parts.number() * filter_floats);
    if (most_parts == 1) {
      backward_by_points(x, w, g, inputs, sums);
    } else {
      at::parallel_for(0, parts.number(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part)
          backward_of_samples(x, w, g, inputs, parts.begin(part), parts.end(part),
                              sums + part * filter_floats);
      });
    }
    const int64_t left = most_parts == 1 ? 1 : meet_parts(sums, filter_floats, parts.number());
    FilterTransforms<kTile>::transform_back(sums, left, in, gradient);
  }

  /// The gradient with respect to the maps alone.
  void backward_of_inputs(const ConstFilters& w, const ConstMaps& g, const InputsGradient& inputs) const {
    if (kPoints * inputs.layout.floats() < kLargeWinogradFilters) {
      at::parallel_for(0, grid_.samples, 1, [&](int64_t begin, int64_t end) {
        for_blocks(w, begin, end, [&](const TileRange& block) {
          const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
          const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
          tiles_.gradients(g, block, block.begin, m);
          inputs.multiply(m, v, block.size(), 0, kPoints);
          tiles_.inputs_back(v, block, block.begin, inputs.maps);
        });
      });
      return;
    }
    for_large_blocks(w, [&](const TileRange& block) {
      const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
      const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
      for_samples(block, [&](const TileRange& tiles) { tiles_.gradients(g, tiles, block.begin, m); });
      at::parallel_for(0, kPoints, 1,
                       [&](int64_t begin, int64_t end) { inputs.multiply(m, v, block.size(), begin, end); });
      for_samples(block,
                  [&](const TileRange& tiles) { tiles_.inputs_back(v, tiles, block.begin, inputs.maps); });
    });
  }

  /// Sums of the filters' gradients over some samples, on one thread.
  void backward_of_samples(const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& g,
                           const InputsGradient& inputs, int64_t first, int64_t last, float* sums) const {
    const int64_t point_floats = w.out * round_up(w.in, kLanes);
    bool is_accumulating = false;
    for_blocks(w, first, last, [&](const TileRange& block) {
      const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
      const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
      tiles_.inputs(x, block, block.begin, v);
      tiles_.gradients(g, block, block.begin, m);
      for (int64_t p = 0; p < kPoints; ++p) {
        add_gradient(w, v.point(p), v.tile_stride, m.point(p), m.tile_stride, block.size(), is_accumulating,
                     sums + p * point_floats);
      }
      is_accumulating = true;
      if (!inputs.is_wanted()) return;
      inputs.multiply(m, v, block.size(), 0, kPoints);
      tiles_.inputs_back(v, block, block.begin, inputs.maps);
    });
  }

  /// The same over all samples on all threads, each of which takes some of the points.
  void backward_by_points(const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& g,
                          const InputsGradient& inputs, float* sums) const {
    const int64_t point_floats = w.out * round_up(w.in, kLanes);
    for_large_blocks(w, [&](const TileRange& block) {
      const Points v = make_points(input_scratch, kPoints, block.size(), w.in);
      const Points m = make_points(output_scratch, kPoints, block.size(), w.out);
      for_samples(block, [&](const TileRange& tiles) {
        tiles_.inputs(x, tiles, block.begin, v);
        tiles_.gradients(g, tiles, block.begin, m);
      });
      at::parallel_for(0, kPoints, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          add_gradient(w, v.point(p), v.tile_stride, m.point(p), m.tile_stride, block.size(), block.begin > 0,
                       sums + p * point_floats);
          if (inputs.is_wanted()) inputs.multiply(m, v, block.size(), p, p + 1);
        }
      });
      if (!inputs.is_wanted()) return;
      for_samples(block,
                  [&](const TileRange& tiles) { tiles_.inputs_back(v, tiles, block.begin, inputs.maps); });
    });
  }

  /// Runs body(tiles) for blocks of the samples' tiles: so many that their points stay in the second cache,
  /// and enough for the products to be fast.
  template <class Body>
  void for_blocks(const ConstFilters& w, int64_t first, int64_t last, const Body& body) const {
    constexpr int64_t kFloats = 96 * 1024;
    constexpr int64_t kLeast = 24;
    constexpr int64_t kMost = 64;
    const int64_t size = std::clamp(kFloats / floats_of_tile(w, kPoints), kLeast, kMost);
    const int64_t end = last * grid_.per_sample();
    for (int64_t t = first * grid_.per_sample(); t < end; t += size)
      body(TileRange{t, std::min(t + size, end)});
  }

  /// Runs body(tiles) for blocks of whole samples that fill the last cache, one after the other.
  template <class Body>
  void for_large_blocks(const ConstFilters& w, const Body& body) const {
    constexpr int64_t kFloats = int64_t{6} << 20;
    const int64_t samples = std::max<int64_t>(1, kFloats / (floats_of_tile(w, kPoints) * grid_.per_sample()));
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

  TileGrid grid_;
  Tiles<kTile> tiles_;
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

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

int64_t winograd_filter_parts(WinogradTile tile, int64_t samples, const ConstFilters& w) {
  // Each part takes memory for filters; with few samples there would be few parts.
  constexpr int64_t kLanes = 16;
  const int64_t points = tile == WinogradTile::kTwo ? 16 : 36;
  const bool is_large =
      points * w.out * round_up(w.in, kLanes) >= kLargeWinogradFilters || samples < Parts::kFewest;
  return is_large ? 1 : Parts::kFewest;
}

HWY_EXPORT(winograd_forward);
HWY_EXPORT(winograd_backward);

void winograd_forward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w, const float* bias,
                      const Maps& y) {
  HWY_DYNAMIC_DISPATCH(winograd_forward)(tile, x, w, bias, y);
}

void winograd_backward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(winograd_backward)(tile, x, w, y_gradient, gradients);
}

}  // namespace batchplus::kernels
#endif
