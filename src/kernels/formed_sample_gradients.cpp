#include "kernels/sample_gradients.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/parts.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/formed_sample_gradients.cpp"
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

thread_local Scratch sum_scratch;
thread_local Scratch sample_scratch;

/// A tile of the gradient in registers: 4 x 24 floats are 12 of the 16, and leave room for the operands.
constexpr int kTileRows = 4;
constexpr int kTileVectors = 3;
/// Of a gradient of more floats there are fewer copies.
constexpr int64_t kLargeWeights = int64_t{1} << 16;
/// A tile may read so many floats past the end of its operand.
constexpr int64_t kSlack = int64_t{kTileVectors} * kLanes;

/// One factor of a product over pixels: at pixel (y, x) it starts at p + y * row + x * step.
struct Operand {
  const float* p;
  int64_t row;
  int64_t step;

  Operand from(int64_t offset) const { return {p + offset, row, step}; }
};

/// Over which pixels a product is summed, and where it goes: row m of the sum starts at sum + m * stride.
struct Target {
  int64_t height;
  int64_t width;
  float* sum;
  int64_t stride;

  Target from(int64_t offset) const { return {height, width, sum + offset, stride}; }
};

/// tile[m][n] = sum over pixels of a[m] * b[n], n < columns. Adds it to the target and returns its sum of
/// squares. Loops over the tile are unrolled completely, or the compiler would keep it in memory.
template <int kRows, int kVectors>
float add_tile(const Operand& a, const Operand& b, const Target& target, int64_t columns) {
  Vector tile[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) tile[m][v] = hn::Zero(kEight);
  }
  for (int64_t y = 0; y < target.height; ++y) {
    const float* pa = a.p + y * a.row;
    const float* pb = b.p + y * b.row;
    for (int64_t x = 0; x < target.width; ++x, pa += a.step, pb += b.step) {
      Vector vectors[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) vectors[v] = hn::LoadU(kEight, pb + kLanes * v);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const Vector factor = hn::Set(kEight, pa[m]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) tile[m][v] = hn::MulAdd(factor, vectors[v], tile[m][v]);
      }
    }
  }
  Vector squares = hn::Zero(kEight);
  const bool is_full = columns == kLanes * kVectors;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* sum = target.sum + m * target.stride + kLanes * v;
      Vector part = tile[m][v];
      if (is_full) {
        hn::StoreU(hn::Add(hn::LoadU(kEight, sum), part), kEight, sum);
      } else {
        const int64_t count = std::clamp<int64_t>(columns - kLanes * v, 0, kLanes);
        const auto mask = hn::FirstN(kEight, static_cast<size_t>(count));
        part = hn::IfThenElseZero(mask, part);
        hn::BlendedStore(hn::Add(hn::MaskedLoad(mask, kEight, sum), part), mask, kEight, sum);
      }
      squares = hn::MulAdd(part, part, squares);
    }
  }
  return simd::sum_eight(squares);
}

using AddTile = float (*)(const Operand&, const Operand&, const Target&, int64_t columns);

/// The tiles of 1 to 4 rows and 1 to 3 vectors.
constexpr AddTile kAddTile[kTileRows][kTileVectors] = {
    {add_tile<1, 1>, add_tile<1, 2>, add_tile<1, 3>},
    {add_tile<2, 1>, add_tile<2, 2>, add_tile<2, 3>},
    {add_tile<3, 1>, add_tile<3, 2>, add_tile<3, 3>},
    {add_tile<4, 1>, add_tile<4, 2>, add_tile<4, 3>},
};

/// Adds sum over pixels of a[m] * b[n] for m < rows, n < columns to the target; returns its sum of squares.
double add_product(const Operand& a, int64_t rows, const Operand& b, int64_t columns, const Target& target) {
  double squares = 0;
  constexpr int64_t kTileColumns = int64_t{kTileVectors} * kLanes;
  for (int64_t n = 0; n < columns; n += kTileColumns) {
    const int64_t width = std::min(kTileColumns, columns - n);
    const int64_t vectors = (width + kLanes - 1) / kLanes;
    for (int64_t m = 0; m < rows; m += kTileRows) {
      const int64_t height = std::min<int64_t>(kTileRows, rows - m);
      squares +=
          kAddTile[height - 1][vectors - 1](a.from(m), b.from(n), target.from(m * target.stride + n), width);
    }
  }
  return squares;
}

/// Floats of a sample with its border of zeros.
int64_t padded_size(const ConvolutionShape& shape) {
  return (shape.height + 2 * shape.padding) * (shape.width + 2 * shape.padding) * shape.in;
}

/// Copies a sample into the middle of `padded`, whose border is zero.
void pad(const ConvolutionShape& shape, const float* x, float* padded) {
  const int64_t row = shape.width * shape.in;
  const int64_t padded_row = row + 2 * shape.padding * shape.in;
  for (int64_t y = 0; y < shape.height; ++y) {
    std::copy_n(x + y * row, row, padded + (y + shape.padding) * padded_row + shape.padding * shape.in);
  }
}

/// In which layout the sum is formed. The vectors of a tile run along the inputs (kernel column and input
/// channel, which lie side by side in memory) or along the output channels, whichever fills them better.
bool runs_along_outputs(const ConvolutionShape& shape) {
  constexpr int64_t kTileColumns = int64_t{kTileVectors} * kLanes;
  const auto filled = [](int64_t columns) {
    const int64_t last = columns % kTileColumns;
    const int64_t vectors = columns / kTileColumns * kTileVectors + (last + kLanes - 1) / kLanes;
    return static_cast<double>(columns) / static_cast<double>(vectors * kLanes);
  };
  return filled(shape.out) > filled(shape.kernel * shape.in);
}

/// Adds one sample's weight gradient to `sum` and returns its squared norm.
///   along inputs   sum: [out,kernel,kernel,in]
///   along outputs  sum: [kernel,kernel,in,out]
double add_sample(const ConvolutionShape& shape, const float* padded, const float* g, bool is_along_outputs,
                  float* sum) {
  const int64_t padded_row = (shape.width + 2 * shape.padding) * shape.in;
  const int64_t taps = shape.kernel * shape.in;
  const Operand gradient{g, shape.out_width * shape.out, shape.out};
  double squares = 0;
  for (int64_t ky = 0; ky < shape.kernel; ++ky) {
    const Operand input{padded + ky * padded_row, shape.stride * padded_row, shape.stride * shape.in};
    if (is_along_outputs) {
      const Target target{shape.out_height, shape.out_width, sum + ky * taps * shape.out, shape.out};
      squares += add_product(input, taps, gradient, shape.out, target);
    } else {
      const Target target{shape.out_height, shape.out_width, sum + ky * taps, shape.kernel * taps};
      squares += add_product(gradient, shape.out, input, taps, target);
    }
  }
  return squares;
}

}  // namespace

void form_sample_gradients(const ConvolutionShape& shape, const ConvolutionBatch& batch, float* sum,
                           double* squared_norms) {
  const bool is_along_outputs = runs_along_outputs(shape);
  const int64_t weights = shape.weights();
  const int64_t x_size = shape.in_pixels() * shape.in;
  const int64_t g_size = shape.out_pixels() * shape.out;
  const Parts parts(batch.samples, weights > kLargeWeights ? 4 : Parts::kMost);
  float* sums = sum_scratch.floats(parts.number() * weights);
  const auto add_part = [&](int64_t part) HWY_ATTR {
    float* own = sums + part * weights;
    std::fill_n(own, weights, 0.0F);
    const int64_t padded_floats = padded_size(shape) + kSlack;
    float* padded = sample_scratch.floats(padded_floats + g_size + kSlack);
    float* gradient = padded + padded_floats;
    std::fill_n(padded, padded_floats + g_size + kSlack, 0.0F);
    for (int64_t i = parts.begin(part); i < parts.end(part); ++i) {
      pad(shape, batch.x + i * x_size, padded);
      const float* g = batch.g + i * g_size;
      if (is_along_outputs && shape.out % kLanes != 0) {
        // Tiles would read past the end of the last sample.
        std::copy_n(g, g_size, gradient);
        g = gradient;
      }
      squared_norms[i] = add_sample(shape, padded, g, is_along_outputs, own);
    }
  };
  at::parallel_for(0, parts.number(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) add_part(part);
  });
  // From [kernel,kernel,in,out] to [out,kernel,kernel,in] where needed.
  const int64_t taps = weights / shape.out;
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, shape.out, std::max<int64_t>(1, kGrain / taps), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = is_along_outputs ? tap * shape.out + o : o * taps + tap;
        const auto part = [&](int64_t i) { return sums[i * weights + place]; };
        sum[o * taps + tap] = add_parts<float>(parts.number(), part);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(form_sample_gradients);

void form_sample_gradients(const ConvolutionShape& shape, const ConvolutionBatch& batch, float* sum,
                           double* squared_norms) {
  HWY_DYNAMIC_DISPATCH(form_sample_gradients)(shape, batch, sum, squared_norms);
}

}  // namespace batchplus::kernels
#endif
