#include "kernels/plain_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/plain_product.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace {

using simd::kLanes;
using simd::Vector;

/// Rows that are summed at a time: enough independent sums to hide the latency of a multiply-add.
constexpr int kRows = 8;

/// A vector of columns of R rows of C.
template <int R, bool kIsFull>
HWY_INLINE void multiply_rows(const ProductShape& shape, const float* a, const float* b, float* c,
                              int64_t count) {
  const int64_t row_step = shape.is_a_transposed ? 1 : shape.a_stride;
  const int64_t depth_step = shape.is_a_transposed ? shape.a_stride : 1;
  Vector sums[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    sums[r] = shape.is_accumulating ? simd::load<kIsFull>(c + r * shape.c_stride, count) : simd::zero();
  for (int64_t d = 0; d < shape.depth; ++d, a += depth_step, b += shape.b_stride) {
    const Vector row = simd::load<kIsFull>(b, count);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r] = simd::mul_add(simd::set(a[r * row_step]), row, sums[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) simd::store<kIsFull>(c + r * shape.c_stride, sums[r], count);
}

}  // namespace

void plain_product(const ProductShape& shape, const float* a, const float* b, float* c) {
  const int64_t row_step = shape.is_a_transposed ? 1 : shape.a_stride;
  simd::for_vectors(shape.columns, [&](int64_t column, int64_t count, auto full) HWY_ATTR {
    constexpr bool kIsFull = decltype(full)::value;
    int64_t row = 0;
    for (; row + kRows <= shape.rows; row += kRows) {
      multiply_rows<kRows, kIsFull>(shape, a + row * row_step, b + column, c + row * shape.c_stride + column,
                                    count);
    }
    for (; row < shape.rows; ++row) {
      multiply_rows<1, kIsFull>(shape, a + row * row_step, b + column, c + row * shape.c_stride + column,
                                count);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchplus::kernels {

HWY_EXPORT(plain_product);

void plain_product(const ProductShape& shape, const float* a, const float* b, float* c) {
  HWY_DYNAMIC_DISPATCH(plain_product)(shape, a, b, c);
}

}  // namespace batchplus::kernels
#endif
