#include "kernels/linear.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/product.h"
#include "kernels/sample_share.h"
#include "kernels/scratch.h"
#include "kernels/trace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::Sixteen;
using simd::Vector;

/// Dot products of some rows with some others at a time: their sums, of sixteen lanes each, fill the
/// registers.
constexpr int kRows = Sixteen::kVectors == 1 ? 4 : 3;
constexpr int kColumns = Sixteen::kVectors == 1 ? 5 : 2;
/// So much of the rows is multiplied at a time: that of the weights stays in the first cache.
constexpr int64_t kDepth = 1024;
/// Multiplications that are worth a thread.
constexpr int64_t kGrain = 65536;

thread_local Scratch gradient_scratch;
thread_local Scratch block_scratch;
thread_local Scratch part_scratch;

/// y[n][o] += sum_i x[n][i] w[o][i] for R rows of x and C rows of w, rows `stride` floats apart.
template <int R, int C>
void add_dots(const float* x, const float* w, int64_t stride, int64_t depth, float* y, int64_t y_stride) {
  Sixteen sums[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) sums[r][c] = simd::zero_sixteen();
  }
  const auto add = [&](int64_t i, int64_t count, auto full) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    Sixteen rows[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) rows[r] = simd::load_sixteen<kIsFull>(x + r * stride + i, count);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const Sixteen column = simd::load_sixteen<kIsFull>(w + c * stride + i, count);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sums[r][c] = simd::mul_add(rows[r], column, sums[r][c]);
    }
  };
  int64_t i = 0;
  for (; i + simd::kMostLanes <= depth; i += simd::kMostLanes) add(i, simd::kMostLanes, std::true_type{});
  if (i < depth) add(i, depth - i, std::false_type{});
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) y[r * y_stride + c] += simd::sum_lanes(sums[r][c]);
  }
}

using AddDots = void (*)(const float*, const float*, int64_t, int64_t, float*, int64_t);

/// add_dots<R, C> at [R - 1][C - 1].
struct AddDotsTable {
  AddDots functions[kRows][kColumns];

  constexpr AddDotsTable() : functions{} { fill(std::make_integer_sequence<int, kRows * kColumns>()); }

 private:
  template <int... kIndex>
  constexpr void fill(std::integer_sequence<int, kIndex...>) {
    ((functions[kIndex / kColumns][kIndex % kColumns] =
          add_dots<kIndex / kColumns + 1, kIndex % kColumns + 1>),
     ...);
  }
};
constexpr AddDotsTable kAddDots;

/// The outputs from `begin` to `end`.
void forward_outputs(const LinearShape& shape, const float* x, const float* weight, const float* bias,
                     bool is_relu, float* y, int64_t begin, int64_t end) {
  for (int64_t n = 0; n < shape.samples; ++n) {
    for (int64_t o = begin; o < end; ++o) y[n * shape.out + o] = bias != nullptr ? bias[o] : 0.0F;
  }
  for (int64_t i = 0; i < shape.in; i += kDepth) {
    const int64_t depth = std::min(kDepth, shape.in - i);
    for (int64_t o = begin; o < end; o += kColumns) {
      const int64_t columns = std::min<int64_t>(kColumns, end - o);
      for (int64_t n = 0; n < shape.samples; n += kRows) {
        const int64_t rows = std::min<int64_t>(kRows, shape.samples - n);
        kAddDots.functions[rows - 1][columns - 1](x + n * shape.in + i, weight + o * shape.in + i, shape.in,
                                                  depth, y + n * shape.out + o, shape.out);
      }
    }
  }
  if (!is_relu) return;
  for (int64_t n = 0; n < shape.samples; ++n) {
    for (int64_t o = begin; o < end; ++o) {
      float& value = y[n * shape.out + o];
      value = value > 0 || value != value ? value : 0.0F;
    }
  }
}

/// The output gradient where max(0, .) let it pass, and its sums over the samples.
const float* masked_gradient(const LinearShape& shape, const LinearBackward& pass) {
  if (pass.y == nullptr && pass.bias_gradient == nullptr) return pass.y_gradient;
  float* masked = gradient_scratch.floats(shape.samples * shape.out);
  simd::for_vectors(shape.out, [&](int64_t o, int64_t count, auto full) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    Vector sum = simd::zero();
    for (int64_t i = o; i < shape.samples * shape.out; i += shape.out) {
      Vector g = simd::load<kIsFull>(pass.y_gradient + i, count);
      if (pass.y != nullptr) g = simd::where_positive(simd::load<kIsFull>(pass.y + i, count), g);
      simd::store<kIsFull>(masked + i, g, count);
      sum = sum + g;
    }
    if (pass.bias_gradient != nullptr) simd::store<kIsFull>(pass.bias_gradient + o, sum, count);
  });
  return masked;
}

/// C: [rows, columns] = A B with the depth in blocks, each summed apart: it rounds less than one long sum.
void multiply_in_blocks(ProductShape shape, int64_t a_step, const float* a, const float* b, float* c) {
  constexpr int64_t kBlockDepth = 256;
  const int64_t depth = shape.depth;
  const int64_t c_stride = shape.c_stride;
  for (int64_t d = 0; d < depth; d += kBlockDepth) {
    shape.depth = std::min(kBlockDepth, depth - d);
    if (d == 0) {
      const Product product(shape);
      product(a, b, c);
      continue;
    }
    shape.c_stride = shape.columns;
    float* part = part_scratch.floats(shape.rows * shape.columns);
    const Product product(shape);
    product(a + d * a_step, b + d * shape.b_stride, part);
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t i = 0; i < shape.columns; ++i) c[row * c_stride + i] += part[row * shape.columns + i];
    }
  }
}

/// The columns of the weights' gradient from `begin` on.
void weight_gradient_columns(const LinearShape& shape, const LinearBackward& pass, const float* g,
                             int64_t begin, int64_t width) {
  // A block of x in one piece: rows of many kilobytes would share the same lines of the cache.
  float* block = block_scratch.floats(shape.samples * width);
  for (int64_t n = 0; n < shape.samples; ++n)
    std::copy_n(pass.x + n * shape.in + begin, width, block + n * width);
  multiply_in_blocks({.rows = shape.out,
                      .columns = width,
                      .depth = shape.samples,
                      .a_stride = shape.out,
                      .b_stride = width,
                      .c_stride = shape.in,
                      .is_a_transposed = true},
                     shape.out, g, block, pass.weight_gradient + begin);
}

int is_wanted(const float* gradient) {
  return gradient != nullptr ? 1 : 0;
}

/// Of one product, or of the two that compute both gradients. Each has a matrix as large as x, and weights.
KernelWork work_of(const LinearShape& shape, int products, const char* format) {
  const int64_t floats = shape.samples * shape.out + products * (shape.samples + shape.out) * shape.in;
  return {describe(format, {shape.in, shape.out}),
          2.0 * products * static_cast<double>(shape.samples * shape.in * shape.out),
          static_cast<double>(floats)};
}

}  // namespace

void linear_forward(const LinearShape& shape, const float* x, const float* weight, const float* bias,
                    bool is_relu, float* y) {
  const TracedCall traced([&] { return work_of(shape, 1, "linear {} to {}, forward"); });
  const int64_t grain = std::max<int64_t>(1, kGrain / (shape.samples * shape.in * kColumns));
  at::parallel_for(0, (shape.out + kColumns - 1) / kColumns, grain, [&](int64_t begin, int64_t end) {
    forward_outputs(shape, x, weight, bias, is_relu, y, begin * kColumns,
                    std::min(end * kColumns, shape.out));
  });
}

void linear_backward(const LinearShape& shape, const LinearBackward& pass) {
  const TracedCall traced([&] {
    return work_of(shape, is_wanted(pass.x_gradient) + is_wanted(pass.weight_gradient),
                   "linear {} to {}, backward");
  });
  const float* g = masked_gradient(shape, pass);
  constexpr int64_t kBlock = 64;
  const int64_t blocks = (shape.in + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (shape.samples * shape.out * kBlock));
  at::parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kBlock; i < std::min(end * kBlock, shape.in); i += kBlock) {
      const int64_t width = std::min(kBlock, shape.in - i);
      if (pass.weight_gradient != nullptr) weight_gradient_columns(shape, pass, g, i, width);
      if (pass.x_gradient == nullptr) continue;
      multiply_in_blocks({.rows = shape.samples,
                          .columns = width,
                          .depth = shape.out,
                          .a_stride = shape.out,
                          .b_stride = shape.in,
                          .c_stride = shape.in},
                         1, g, pass.weight + i, pass.x_gradient + i);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(linear_forward);
HWY_EXPORT(linear_backward);

void linear_forward(const LinearShape& shape, const float* x, const float* weight, const float* bias,
                    bool is_relu, float* y) {
  HWY_DYNAMIC_DISPATCH(linear_forward)(shape, x, weight, bias, is_relu, y);
}

namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

/// Rows of all samples of the batch; row(n) gives those at hand.
template <class Row>
std::vector<float> gather_rows(SampleShare& share, int64_t samples, int64_t width, const Row& row) {
  std::vector<float> all(static_cast<size_t>(share.whole() * width));
  float* own = all.data() + share.begin(share.whole()) * width;
  for (int64_t n = 0; n < samples; ++n) row(n, own + n * width);
  share.gather(all.data(), share.whole(), width * kFloatBytes);
  return all;
}

/// The gradients of weight and bias are summed sample by sample, so no rank's sum is part of them. Each rank
/// sums those of some outputs over all samples instead.
void parameters_in_order(SampleShare& share, const LinearShape& shape, const LinearBackward& pass) {
  const std::vector<float> g = gather_rows(share, shape.samples, shape.out, [&](int64_t n, float* to) {
    for (int64_t o = 0; o < shape.out; ++o) {
      const int64_t i = n * shape.out + o;
      to[o] = pass.y == nullptr || pass.y[i] > 0 ? pass.y_gradient[i] : 0.0F;
    }
  });
  const std::vector<float> x = gather_rows(share, shape.samples, shape.in, [&](int64_t n, float* to) {
    std::copy_n(pass.x + n * shape.in, shape.in, to);
  });
  // What takes less time than another message is summed by all of them.
  constexpr int64_t kWorthSharing = int64_t{1} << 16;
  const bool is_shared = shape.in * shape.out >= kWorthSharing;
  const int64_t first = is_shared ? share.begin(shape.out) : 0;
  const int64_t count = (is_shared ? share.end(shape.out) : shape.out) - first;
  std::vector<float> some(static_cast<size_t>(share.whole() * count));
  for (int64_t n = 0; n < share.whole(); ++n)
    std::copy_n(g.data() + n * shape.out + first, count, some.data() + n * count);
  if (count > 0) {
    const auto behind = [](float* data, int64_t offset) { return data != nullptr ? data + offset : nullptr; };
    HWY_DYNAMIC_DISPATCH(linear_backward)
    ({share.whole(), shape.in, count}, {.x = x.data(),
                                        .weight = pass.weight + first * shape.in,
                                        .y_gradient = some.data(),
                                        .y = nullptr,
                                        .x_gradient = nullptr,
                                        .weight_gradient = behind(pass.weight_gradient, first * shape.in),
                                        .bias_gradient = behind(pass.bias_gradient, first)});
  }
  if (!is_shared) return;
  if (pass.weight_gradient != nullptr) share.gather(pass.weight_gradient, shape.out, shape.in * kFloatBytes);
  if (pass.bias_gradient != nullptr) share.gather(pass.bias_gradient, shape.out, kFloatBytes);
}

}  // namespace

void linear_backward(const LinearShape& shape, const LinearBackward& pass) {
  SampleShare* share = exact_share();
  if (share == nullptr) return HWY_DYNAMIC_DISPATCH(linear_backward)(shape, pass);
  LinearBackward of_inputs = pass;
  of_inputs.weight_gradient = nullptr;
  of_inputs.bias_gradient = nullptr;
  if (pass.x_gradient != nullptr) HWY_DYNAMIC_DISPATCH(linear_backward)(shape, of_inputs);
  if (pass.weight_gradient != nullptr || pass.bias_gradient != nullptr)
    parameters_in_order(*share, shape, pass);
}

}  // namespace batchplus::kernels
#endif
