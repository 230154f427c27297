#include "kernels/sample_gradients.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/scratch.h"

#include "kernels/simd.h"

namespace batchplus::kernels {
namespace {

using simd::kLanes;
using simd::Vector;

thread_local Scratch sum_scratch;
thread_local Scratch sample_scratch;

/// A tile of the gradient in registers: 4 x 24 floats are 12 of the 16, and leave room for the operands.
constexpr int kTileRows = 4;
constexpr int kTileVectors = 3;
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
    for (int v = 0; v < kVectors; ++v) tile[m][v] = _mm256_setzero_ps();
  }
  for (int64_t y = 0; y < target.height; ++y) {
    const float* pa = a.p + y * a.row;
    const float* pb = b.p + y * b.row;
    for (int64_t x = 0; x < target.width; ++x, pa += a.step, pb += b.step) {
      Vector vectors[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) vectors[v] = _mm256_loadu_ps(pb + kLanes * v);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const Vector factor = _mm256_broadcast_ss(pa + m);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) tile[m][v] = _mm256_fmadd_ps(factor, vectors[v], tile[m][v]);
      }
    }
  }
  Vector squares = _mm256_setzero_ps();
  const bool is_full = columns == kLanes * kVectors;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* sum = target.sum + m * target.stride + kLanes * v;
      Vector part = tile[m][v];
      if (is_full) {
        _mm256_storeu_ps(sum, _mm256_add_ps(_mm256_loadu_ps(sum), part));
      } else {
        const __m256i mask = simd::first_lanes(columns - kLanes * v);
        part = _mm256_and_ps(part, _mm256_castsi256_ps(mask));
        _mm256_maskstore_ps(sum, mask, _mm256_add_ps(_mm256_maskload_ps(sum, mask), part));
      }
      squares = _mm256_fmadd_ps(part, part, squares);
    }
  }
  return simd::sum_lanes(squares);
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
  // Each thread adds to a part of its own.
  const int64_t parts = at::get_num_threads();
  float* sums = sum_scratch.floats(parts * weights);
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    std::fill(sums + begin * weights, sums + end * weights, 0.0F);
  });
  at::parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
    const int64_t padded_floats = padded_size(shape) + kSlack;
    float* padded = sample_scratch.floats(padded_floats + g_size + kSlack);
    float* gradient = padded + padded_floats;
    std::fill_n(padded, padded_floats + g_size + kSlack, 0.0F);
    for (int64_t i = begin; i < end; ++i) {
      pad(shape, batch.x + i * x_size, padded);
      const float* g = batch.g + i * g_size;
      if (is_along_outputs && shape.out % kLanes != 0) {
        // Tiles would read past the end of the last sample.
        std::copy_n(g, g_size, gradient);
        g = gradient;
      }
      squared_norms[i] =
          add_sample(shape, padded, g, is_along_outputs, sums + at::get_thread_num() * weights);
    }
  });
  // Each thread's part in turn, and from [kernel,kernel,in,out] to [out,kernel,kernel,in] where needed.
  const int64_t taps = weights / shape.out;
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, shape.out, std::max<int64_t>(1, kGrain / taps), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = is_along_outputs ? tap * shape.out + o : o * taps + tap;
        float total = 0;
        for (int64_t part = 0; part < parts; ++part) total += sums[part * weights + place];
        sum[o * taps + tap] = total;
      }
    }
  });
}

}  // namespace batchplus::kernels
