#include "kernels/sample_gradients.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gram_sample_norms.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// Vectors of eight for every instruction set: squares are summed over the lanes.
constexpr simd::Eight kEight;
using Vector = simd::EightFloats;
constexpr int64_t kLanes = 8;

thread_local Scratch gram_scratch;

/// A tile of the matrix in registers.
constexpr int kTileRows = 4;
constexpr int kTileColumns = 3;

/// out[i][j] = <row i, row j> for i in a tile of kRows and j in a tile of kColumns rows.
template <int kRows, int kColumns>
void gram_tile(const float* a, const float* b, int64_t length, float* out, int64_t stride) {
  Vector tile[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) tile[i][j] = hn::Zero(kEight);
  }
  const auto add = [&](int64_t c, auto load) HWY_ATTR {
    Vector right[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) right[j] = load(b + j * length + c);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vector left = load(a + i * length + c);
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) tile[i][j] = hn::MulAdd(left, right[j], tile[i][j]);
    }
  };
  int64_t c = 0;
  for (; c + kLanes <= length; c += kLanes)
    add(c, [](const float* p) HWY_ATTR { return hn::LoadU(kEight, p); });
  if (c < length) {
    const auto mask = hn::FirstN(kEight, static_cast<size_t>(length - c));
    add(c, [mask](const float* p) HWY_ATTR { return hn::MaskedLoad(mask, kEight, p); });
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) out[i * stride + j] = simd::sum_eight(tile[i][j]);
  }
}

using GramTile = void (*)(const float*, const float*, int64_t, float*, int64_t);
constexpr GramTile kGramTile[kTileRows][kTileColumns] = {
    {gram_tile<1, 1>, gram_tile<1, 2>, gram_tile<1, 3>},
    {gram_tile<2, 1>, gram_tile<2, 2>, gram_tile<2, 3>},
    {gram_tile<3, 1>, gram_tile<3, 2>, gram_tile<3, 3>},
    {gram_tile<4, 1>, gram_tile<4, 2>, gram_tile<4, 3>},
};

/// gram[i][j] = <row i, row j>: [count,count] for rows: [count,length].
void gram_matrix(const float* rows, int64_t count, int64_t length, float* gram) {
  for (int64_t i = 0; i < count; i += kTileRows) {
    const int64_t height = std::min<int64_t>(kTileRows, count - i);
    // The upper triangle, and what the tiles on the diagonal hold besides.
    for (int64_t j = i / kTileColumns * kTileColumns; j < count; j += kTileColumns) {
      const int64_t width = std::min<int64_t>(kTileColumns, count - j);
      kGramTile[height - 1][width - 1](rows + i * length, rows + j * length, length, gram + i * count + j,
                                       count);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < i; ++j) gram[i * count + j] = gram[j * count + i];
  }
}

/// The output positions along one axis whose tap `k` lies inside the input.
struct Range {
  int64_t begin;
  int64_t end;
};
Range inside(int64_t k, int64_t stride, int64_t padding, int64_t in, int64_t out) {
  const auto is_inside = [&](int64_t o) {
    const int64_t i = o * stride + k - padding;
    return i >= 0 && i < in;
  };
  Range range{0, out};
  while (range.begin < range.end && !is_inside(range.begin)) ++range.begin;
  while (range.end > range.begin && !is_inside(range.end - 1)) --range.end;
  return range;
}

/// Some rows of the output pixels: in the two matrices they start `p_step` and `q_step` floats apart, and
/// neighbouring pixels lie `stride` floats and one float apart.
struct PixelRows {
  int64_t rows;
  int64_t columns;
  int64_t p_step;
  int64_t q_step;
  int64_t stride;
};

/// The sum over the rows' pixels of p q.
HWY_INLINE float dot(const PixelRows& over, const float* p, const float* q) {
  if (over.stride != 1) {
    float sum = 0;
    for (int64_t v = 0; v < over.rows; ++v, p += over.p_step, q += over.q_step) {
      for (int64_t u = 0; u < over.columns; ++u) sum += p[u * over.stride] * q[u];
    }
    return sum;
  }
  Vector sum = hn::Zero(kEight);
  const int64_t whole = over.columns / kLanes * kLanes;
  const auto mask = hn::FirstN(kEight, static_cast<size_t>(over.columns - whole));
  for (int64_t v = 0; v < over.rows; ++v, p += over.p_step, q += over.q_step) {
    for (int64_t u = 0; u < whole; u += kLanes)
      sum = hn::MulAdd(hn::LoadU(kEight, p + u), hn::LoadU(kEight, q + u), sum);
    if (whole == over.columns) continue;
    sum = hn::MulAdd(hn::MaskedLoad(mask, kEight, p + whole), hn::MaskedLoad(mask, kEight, q + whole), sum);
  }
  return simd::sum_eight(sum);
}

/// sum_{t,s} gradient_gram[t][s] * pixel_gram[t + tap][s + tap] for one tap of the kernel.
double add_tap(const ConvolutionShape& shape, int64_t ky, int64_t kx, const float* pixel_gram,
               const float* gradient_gram) {
  const Range rows = inside(ky, shape.stride, shape.padding, shape.height, shape.out_height);
  const Range columns = inside(kx, shape.stride, shape.padding, shape.width, shape.out_width);
  const auto pixel = [&](int64_t y, int64_t x) {
    return (y * shape.stride + ky - shape.padding) * shape.width + x * shape.stride + kx - shape.padding;
  };
  const PixelRows over{rows.end - rows.begin, columns.end - columns.begin, shape.stride * shape.width,
                       shape.out_width, shape.stride};
  if (over.rows == 0 || over.columns == 0) return 0;
  double total = 0;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const float* of_pixel = pixel_gram + pixel(y, x) * shape.in_pixels();
      const float* of_gradient = gradient_gram + (y * shape.out_width + x) * shape.out_pixels();
      const int64_t first = rows.begin * shape.out_width + columns.begin;
      total +=
          static_cast<double>(dot(over, of_pixel + pixel(rows.begin, columns.begin), of_gradient + first));
    }
  }
  return total;
}

}  // namespace

void gram_squared_norms(const ConvolutionShape& shape, const ConvolutionBatch& batch, double* squared_norms) {
  const int64_t in_pixels = shape.in_pixels();
  const int64_t out_pixels = shape.out_pixels();
  at::parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
    float* pixel_gram = gram_scratch.floats(in_pixels * in_pixels + out_pixels * out_pixels);
    float* gradient_gram = pixel_gram + in_pixels * in_pixels;
    for (int64_t i = begin; i < end; ++i) {
      gram_matrix(batch.x + i * in_pixels * shape.in, in_pixels, shape.in, pixel_gram);
      gram_matrix(batch.g + i * out_pixels * shape.out, out_pixels, shape.out, gradient_gram);
      double total = 0;
      for (int64_t ky = 0; ky < shape.kernel; ++ky) {
        for (int64_t kx = 0; kx < shape.kernel; ++kx) {
          total += add_tap(shape, ky, kx, pixel_gram, gradient_gram);
        }
      }
      // The terms have both signs: rounding may leave a gradient of zero a little below it.
      squared_norms[i] = std::max(0.0, total);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(gram_squared_norms);

void gram_squared_norms(const ConvolutionShape& shape, const ConvolutionBatch& batch, double* squared_norms) {
  HWY_DYNAMIC_DISPATCH(gram_squared_norms)(shape, batch, squared_norms);
}

}  // namespace batchplus::kernels
#endif
