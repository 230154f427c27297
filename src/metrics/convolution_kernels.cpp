#include "metrics/convolution_kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <vector>

#include "util/error.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace batchplus {
namespace {

constexpr int kLanes = 8;
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

[[gnu::target("avx2,fma"), gnu::always_inline]] inline float horizontal_sum(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// tile[m][n] = sum over pixels of a[m] * b[n], n < columns. Adds it to the target and returns its sum of
/// squares. Loops over the tile are unrolled completely, or the compiler would keep it in memory.
template <int kRows, int kVectors>
[[gnu::target("avx2,fma")]] float add_tile(const Operand& a, const Operand& b, const Target& target,
                                           int64_t columns) {
  __m256 tile[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) tile[m][v] = _mm256_setzero_ps();
  }
  for (int64_t y = 0; y < target.height; ++y) {
    const float* pa = a.p + y * a.row;
    const float* pb = b.p + y * b.row;
    for (int64_t x = 0; x < target.width; ++x, pa += a.step, pb += b.step) {
      __m256 vectors[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) vectors[v] = _mm256_loadu_ps(pb + kLanes * v);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const __m256 factor = _mm256_broadcast_ss(pa + m);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) tile[m][v] = _mm256_fmadd_ps(factor, vectors[v], tile[m][v]);
      }
    }
  }
  __m256 squares = _mm256_setzero_ps();
  const bool is_full = columns == kLanes * kVectors;
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* sum = target.sum + m * target.stride + kLanes * v;
      __m256 part = tile[m][v];
      if (is_full) {
        _mm256_storeu_ps(sum, _mm256_add_ps(_mm256_loadu_ps(sum), part));
      } else {
        const auto left = static_cast<int>(columns - kLanes * v);
        const __m256i mask =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        part = _mm256_and_ps(part, _mm256_castsi256_ps(mask));
        _mm256_maskstore_ps(sum, mask, _mm256_add_ps(_mm256_maskload_ps(sum, mask), part));
      }
      squares = _mm256_fmadd_ps(part, part, squares);
    }
  }
  return horizontal_sum(squares);
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

/// out[i][j] = <row i, row j> for i in a tile of kRows and j in a tile of kColumns rows.
template <int kRows, int kColumns>
[[gnu::target("avx2,fma")]] void gram_tile(const float* a, const float* b, int64_t length, float* out,
                                           int64_t stride) {
  __m256 tile[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) tile[i][j] = _mm256_setzero_ps();
  }
  const auto add = [&](__m256i mask, int64_t c) __attribute__((target("avx2,fma"), always_inline)) {
    __m256 right[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) right[j] = _mm256_maskload_ps(b + j * length + c, mask);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const __m256 left = _mm256_maskload_ps(a + i * length + c, mask);
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) tile[i][j] = _mm256_fmadd_ps(left, right[j], tile[i][j]);
    }
  };
  const __m256i all = _mm256_set1_epi32(-1);
  int64_t c = 0;
  for (; c + kLanes <= length; c += kLanes) add(all, c);
  if (c < length) {
    add(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(length - c)),
                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        c);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) out[i * stride + j] = horizontal_sum(tile[i][j]);
  }
}

using GramTile = void (*)(const float*, const float*, int64_t, float*, int64_t);
constexpr GramTile kGramTile[kTileRows][kTileVectors] = {
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
    for (int64_t j = i / kTileVectors * kTileVectors; j < count; j += kTileVectors) {
      const int64_t width = std::min<int64_t>(kTileVectors, count - j);
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

/// sum_{t,s} gradient_gram[t][s] * pixel_gram[t + tap][s + tap] for one tap of the kernel.
double add_tap(const ConvolutionShape& shape, int64_t ky, int64_t kx, const float* pixel_gram,
               const float* gradient_gram) {
  const Range rows = inside(ky, shape.stride, shape.padding, shape.height, shape.out_height);
  const Range columns = inside(kx, shape.stride, shape.padding, shape.width, shape.out_width);
  const auto pixel = [&](int64_t y, int64_t x) {
    return (y * shape.stride + ky - shape.padding) * shape.width + x * shape.stride + kx - shape.padding;
  };
  double total = 0;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const float* of_pixel = pixel_gram + pixel(y, x) * shape.in_pixels();
      const float* of_gradient = gradient_gram + (y * shape.out_width + x) * shape.out_pixels();
      for (int64_t v = rows.begin; v < rows.end; ++v) {
        const float* p = of_pixel + pixel(v, columns.begin);
        const float* q = of_gradient + v * shape.out_width + columns.begin;
        float part = 0;
        for (int64_t u = 0; u < columns.end - columns.begin; ++u) part += p[u * shape.stride] * q[u];
        total += part;
      }
    }
  }
  return total;
}

}  // namespace

bool has_convolution_kernels() {
  static const bool is_here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return is_here;
}

void form_sample_gradients(const ConvolutionShape& shape, const ConvolutionBatch& batch, float* sum,
                           double* squared_norms) {
  const bool is_along_outputs = runs_along_outputs(shape);
  const int64_t weights = shape.weights();
  const int64_t x_size = shape.in_pixels() * shape.in;
  const int64_t g_size = shape.out_pixels() * shape.out;
  std::vector<std::vector<float>> sums(static_cast<size_t>(at::get_num_threads()));
  at::parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
    auto& own_sum = sums[static_cast<size_t>(at::get_thread_num())];
    own_sum.assign(static_cast<size_t>(weights), 0.0F);
    std::vector<float> padded(static_cast<size_t>(padded_size(shape) + kSlack));
    std::vector<float> gradient(static_cast<size_t>(g_size + kSlack));
    for (int64_t i = begin; i < end; ++i) {
      pad(shape, batch.x + i * x_size, padded.data());
      const float* g = batch.g + i * g_size;
      if (is_along_outputs && shape.out % kLanes != 0) {
        // Tiles would read past the end of the last sample.
        std::copy_n(g, g_size, gradient.data());
        g = gradient.data();
      }
      squared_norms[i] = add_sample(shape, padded.data(), g, is_along_outputs, own_sum.data());
    }
  });
  const auto is_empty = [](const std::vector<float>& part) { return part.empty(); };
  sums.erase(std::remove_if(sums.begin(), sums.end(), is_empty), sums.end());
  // Each thread's part in turn, and from [kernel,kernel,in,out] to [out,kernel,kernel,in] where needed.
  const int64_t taps = weights / shape.out;
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, shape.out, std::max<int64_t>(1, kGrain / taps), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const auto place = static_cast<size_t>(is_along_outputs ? tap * shape.out + o : o * taps + tap);
        float total = 0;
        for (const auto& part : sums) total += part[place];
        sum[o * taps + tap] = total;
      }
    }
  });
}

void gram_squared_norms(const ConvolutionShape& shape, const ConvolutionBatch& batch, double* squared_norms) {
  const int64_t in_pixels = shape.in_pixels();
  const int64_t out_pixels = shape.out_pixels();
  at::parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> pixel_gram(static_cast<size_t>(in_pixels * in_pixels));
    std::vector<float> gradient_gram(static_cast<size_t>(out_pixels * out_pixels));
    for (int64_t i = begin; i < end; ++i) {
      gram_matrix(batch.x + i * in_pixels * shape.in, in_pixels, shape.in, pixel_gram.data());
      gram_matrix(batch.g + i * out_pixels * shape.out, out_pixels, shape.out, gradient_gram.data());
      double total = 0;
      for (int64_t ky = 0; ky < shape.kernel; ++ky) {
        for (int64_t kx = 0; kx < shape.kernel; ++kx) {
          total += add_tap(shape, ky, kx, pixel_gram.data(), gradient_gram.data());
        }
      }
      // The terms have both signs: rounding may leave a gradient of zero a little below it.
      squared_norms[i] = std::max(0.0, total);
    }
  });
}

}  // namespace batchplus

#else

namespace batchplus {

bool has_convolution_kernels() {
  return false;
}

void form_sample_gradients(const ConvolutionShape&, const ConvolutionBatch&, float*, double*) {
  BATCHPLUS_CHECK(false, "the caller asks has_convolution_kernels() first");
}

void gram_squared_norms(const ConvolutionShape&, const ConvolutionBatch&, double*) {
  BATCHPLUS_CHECK(false, "the caller asks has_convolution_kernels() first");
}

}  // namespace batchplus

#endif
