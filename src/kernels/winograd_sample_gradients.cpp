#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "kernels/parts.h"
#include "kernels/product.h"
#include "kernels/sample_gradients.h"
#include "kernels/scratch.h"
#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd_sample_gradients.cpp"
#include <hwy/foreach_target.h>

#include "kernels/winograd_filters-inl.h"
#include "kernels/winograd_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr int kTile = 4;
constexpr int kSide = kTile + 2;
constexpr int kPoints = kSide * kSide;
constexpr int kTaps = 9;
/// Of a gradient of more floats there are fewer copies.
constexpr int64_t kLargeWeights = int64_t{1} << 16;

thread_local Scratch input_scratch;
thread_local Scratch output_scratch;
thread_local Scratch point_scratch;
thread_local Scratch sum_scratch;

/// A sample's gradient at each point, S = M^T V over its tiles: [out][in rounded up].
class PointProducts {
 public:
  PointProducts(int64_t out, int64_t in, int64_t tiles, int64_t m_stride, int64_t v_stride) {
    constexpr int64_t kRows = 64;
    constexpr int64_t kColumns = 64;
    constexpr int64_t kDepth = 128;
    for (int64_t c = 0; c < in; c += kColumns) {
      for (int64_t k = 0; k < out; k += kRows) {
        for (int64_t t = 0; t < tiles; t += kDepth) {
          blocks_.push_back({Product({.rows = std::min(kRows, out - k),
                                      .columns = std::min(kColumns, in - c),
                                      .depth = std::min(kDepth, tiles - t),
                                      .a_stride = m_stride,
                                      .b_stride = v_stride,
                                      .c_stride = in,
                                      .is_a_transposed = true,
                                      .is_accumulating = t > 0}),
                             t * m_stride + k, t * v_stride + c, k * in + c});
        }
      }
    }
  }
  void operator()(const float* m, const float* v, float* s) const {
    for (const Block& block : blocks_) block.product(m + block.m, v + block.v, s + block.s);
  }

 private:
  struct Block {
    Product product;
    int64_t m;
    int64_t v;
    int64_t s;
  };
  std::vector<Block> blocks_;
};

/// Adds G^T S G, a sample's filters, to sum: [out][taps][in rounded up to eight], and returns their squares.
double add_filters(const float* points, int64_t out, int64_t in, int64_t columns, float* sum) {
  const int64_t point_stride = out * columns;
  const int64_t eights = round_up(in, kEight);
  double total = 0;
  for (int64_t k = 0; k < out; ++k) {
    EightFloats squares = simd::hn::Zero(simd::Eight());
    for (int64_t c = 0; c < eights; c += kEight) {
      const float* from = points + k * columns + c;
      float* to = sum + k * kTaps * eights + c;
      simd::transform_square<kSide, 3, EightFloats>(
          [](const auto& u, auto& w) HWY_ATTR { simd::Filtering<kTile>::filters_transposed(u, w); },
          [&](int i, int j)
              HWY_ATTR { return simd::hn::LoadU(simd::Eight(), from + (i * kSide + j) * point_stride); },
          [&](int i, int j, EightFloats value) HWY_ATTR {
            float* tap = to + (i * 3 + j) * eights;
            squares = simd::hn::MulAdd(value, value, squares);
            simd::hn::StoreU(simd::hn::LoadU(simd::Eight(), tap) + value, simd::Eight(), tap);
          });
    }
    total += static_cast<double>(simd::sum_eight(squares));
  }
  return total;
}

}  // namespace

void winograd_sample_gradients(const ConstMaps& x, const ConstMaps& g, const Filters& sum,
                               double* squared_norms) {
  const TracedCall traced([&] {
    const auto macs = static_cast<double>(g.all_pixels() * sum.values());
    return KernelWork{
        describe("sample gradients {} to {}, {}x{}, F(4x4)", {sum.in, sum.out, x.height, x.width}), macs / 2,
        static_cast<double>(x.values() + g.values())};
  });
  const TileGrid grid{x.samples, x.height, x.width, kTile};
  const Tiles<kTile> tiles(grid);
  const int64_t columns = round_up(sum.in, kLanes);
  const int64_t eights = round_up(sum.in, kEight);
  const int64_t floats = sum.out * kTaps * eights;
  const Parts parts(x.samples, sum.values() > kLargeWeights ? 4 : Parts::kMost);
  float* sums = sum_scratch.floats(parts.number() * floats);
  at::parallel_for(0, parts.number(), 1, [&](int64_t begin, int64_t end) {
    float* points = point_scratch.floats(kPoints * sum.out * columns);
    const Points v = make_points(input_scratch, kPoints, grid.per_sample(), sum.in);
    const Points m = make_points(output_scratch, kPoints, grid.per_sample(), sum.out);
    const PointProducts multiply(sum.out, columns, grid.per_sample(), m.tile_stride, v.tile_stride);
    for (int64_t part = begin; part < end; ++part) {
      float* own = sums + part * floats;
      std::fill_n(own, floats, 0.0F);
      for (int64_t n = parts.begin(part); n < parts.end(part); ++n) {
        const TileRange sample{n * grid.per_sample(), (n + 1) * grid.per_sample()};
        tiles.inputs({.maps = x}, sample, sample.begin, v);
        tiles.gradients(g, sample, sample.begin, m);
        for (int64_t p = 0; p < kPoints; ++p)
          multiply(m.point(p), v.point(p), points + p * sum.out * columns);
        squared_norms[n] = add_filters(points, sum.out, sum.in, columns, own);
      }
    }
  });
  at::parallel_for(0, sum.out, filter_grain(sum.in, kPoints), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        for (int64_t c = 0; c < sum.in; ++c) {
          const int64_t place = (k * kTaps + tap) * eights + c;
          *sum.at(k, c, tap) =
              add_parts<float>(parts.number(), [&](int64_t i) { return sums[i * floats + place]; });
        }
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(winograd_sample_gradients);

void winograd_sample_gradients(const ConstMaps& x, const ConstMaps& g, const Filters& sum,
                               double* squared_norms) {
  HWY_DYNAMIC_DISPATCH(winograd_sample_gradients)(x, g, sum, squared_norms);
}

}  // namespace batchplus::kernels
#endif
