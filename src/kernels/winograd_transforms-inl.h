// Winograd's minimal filtering in one dimension, F(m, 3): m outputs of a filter of 3 from m + 2 inputs d with
// m + 2 multiplications,
//   y = A^T [(G w) . (B^T d)],
// by evaluating polynomials at m + 1 points and at infinity. In two dimensions each transform is applied to
// the columns and to the rows. The backward pass uses the transposed transforms: with g the gradient of y,
//   d's gradient is B [(G w) . (A g)] and w's gradient is G^T [(B^T d) . (A g)].

#if defined(BATCHPLUS_KERNELS_WINOGRAD_TRANSFORMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BATCHPLUS_KERNELS_WINOGRAD_TRANSFORMS_INL_H
#undef BATCHPLUS_KERNELS_WINOGRAD_TRANSFORMS_INL_H
#else
#define BATCHPLUS_KERNELS_WINOGRAD_TRANSFORMS_INL_H
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace batchplus::kernels {
namespace HWY_NAMESPACE {
namespace simd {

template <int kTile>
struct Filtering;

/// F(2, 3) at the points 0, 1, -1: sums and differences. They magnify roundings by 5/3 on large maps and by 2
/// on maps of 2x2 (convolution_test.cpp).
template <>
struct Filtering<2> {
  template <class V>
  HWY_INLINE static void inputs(const V (&d)[4], V (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  template <class V>
  HWY_INLINE static void inputs_transposed(const V (&v)[4], V (&d)[4]) {
    d[0] = v[0];
    d[1] = v[1] - v[2] - v[3];
    d[2] = v[1] + v[2] - v[0];
    d[3] = v[3];
  }
  template <class V>
  HWY_INLINE static void outputs(const V (&m)[4], V (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
  template <class V>
  HWY_INLINE static void outputs_transposed(const V (&g)[2], V (&m)[4]) {
    m[0] = g[0];
    m[1] = g[0] + g[1];
    m[2] = g[0] - g[1];
    m[3] = g[1];
  }
  template <class V>
  HWY_INLINE static void filters(const V (&w)[3], V (&u)[4]) {
    const V half = hn::Set(hn::DFromV<V>(), 0.5F);
    const V even = (w[0] + w[2]) * half;
    u[0] = w[0];
    u[1] = hn::MulAdd(w[1], half, even);
    u[2] = hn::NegMulAdd(w[1], half, even);
    u[3] = w[2];
  }
  template <class V>
  HWY_INLINE static void filters_transposed(const V (&u)[4], V (&w)[3]) {
    const V half = hn::Set(hn::DFromV<V>(), 0.5F);
    const V sum = (u[1] + u[2]) * half;
    w[0] = u[0] + sum;
    w[1] = (u[1] - u[2]) * half;
    w[2] = u[3] + sum;
  }
};

/// F(4, 3) at the points 0, a, -a, b, -b with a = 3/4, b = 3/2: about half of the rounding error of the usual
/// 1 and 2 (bench/winograd_points.py, docs/performance.md).
template <>
struct Filtering<4> {
  static constexpr float a = 0.75F;
  static constexpr float b = 1.5F;
  static constexpr float a2 = a * a;
  static constexpr float b2 = b * b;
  /// 1 / prod(p - q) over the other points q, for p = 0, a or -a, b or -b.
  static constexpr float n0 = 1 / (a2 * b2);
  static constexpr float na = 1 / (2 * a2 * (a2 - b2));
  static constexpr float nb = 1 / (2 * b2 * (b2 - a2));

  /// x * factor + y and y - x * factor, rounded once, and x * factor.
  template <class V>
  HWY_INLINE static V add(V x, float factor, V y) {
    return hn::MulAdd(x, hn::Set(hn::DFromV<V>(), factor), y);
  }
  template <class V>
  HWY_INLINE static V subtract(V x, float factor, V y) {
    return hn::NegMulAdd(x, hn::Set(hn::DFromV<V>(), factor), y);
  }
  template <class V>
  HWY_INLINE static V times(V x, float factor) {
    return x * hn::Set(hn::DFromV<V>(), factor);
  }

  template <class V>
  HWY_INLINE static void inputs(const V (&d)[6], V (&v)[6]) {
    v[0] = add(d[0], a2 * b2, subtract(d[2], a2 + b2, d[4]));
    const V even_a = subtract(d[2], b2, d[4]);
    const V odd_a = subtract(d[1], b2, d[3]);
    v[1] = add(odd_a, a, even_a);
    v[2] = subtract(odd_a, a, even_a);
    const V even_b = subtract(d[2], a2, d[4]);
    const V odd_b = subtract(d[1], a2, d[3]);
    v[3] = add(odd_b, b, even_b);
    v[4] = subtract(odd_b, b, even_b);
    v[5] = add(d[1], a2 * b2, subtract(d[3], a2 + b2, d[5]));
  }
  template <class V>
  HWY_INLINE static void inputs_transposed(const V (&v)[6], V (&d)[6]) {
    const V sum_a = v[1] + v[2];
    const V sum_b = v[3] + v[4];
    const V difference_a = v[1] - v[2];
    const V difference_b = v[3] - v[4];
    d[0] = times(v[0], a2 * b2);
    d[1] = subtract(difference_b, b * a2, subtract(difference_a, a * b2, times(v[5], a2 * b2)));
    d[2] = subtract(sum_b, a2, subtract(sum_a, b2, times(v[0], -(a2 + b2))));
    d[3] = add(difference_a, a, add(difference_b, b, times(v[5], -(a2 + b2))));
    d[4] = v[0] + sum_a + sum_b;
    d[5] = v[5];
  }
  template <class V>
  HWY_INLINE static void outputs(const V (&m)[6], V (&y)[4]) {
    const V sum_a = m[1] + m[2];
    const V sum_b = m[3] + m[4];
    const V difference_a = m[1] - m[2];
    const V difference_b = m[3] - m[4];
    y[0] = m[0] + sum_a + sum_b;
    y[1] = add(difference_a, a, times(difference_b, b));
    y[2] = add(sum_a, a2, times(sum_b, b2));
    y[3] = add(difference_a, a * a2, add(difference_b, b * b2, m[5]));
  }
  template <class V>
  HWY_INLINE static void outputs_transposed(const V (&g)[4], V (&m)[6]) {
    const V even_a = add(g[2], a2, g[0]);
    const V odd_a = add(g[3], a2, g[1]);
    const V even_b = add(g[2], b2, g[0]);
    const V odd_b = add(g[3], b2, g[1]);
    m[0] = g[0];
    m[1] = add(odd_a, a, even_a);
    m[2] = subtract(odd_a, a, even_a);
    m[3] = add(odd_b, b, even_b);
    m[4] = subtract(odd_b, b, even_b);
    m[5] = g[3];
  }
  template <class V>
  HWY_INLINE static void filters(const V (&w)[3], V (&u)[6]) {
    const V even_a = times(add(w[2], a2, w[0]), na);
    const V even_b = times(add(w[2], b2, w[0]), nb);
    u[0] = times(w[0], n0);
    u[1] = add(w[1], a * na, even_a);
    u[2] = subtract(w[1], a * na, even_a);
    u[3] = add(w[1], b * nb, even_b);
    u[4] = subtract(w[1], b * nb, even_b);
    u[5] = w[2];
  }
  template <class V>
  HWY_INLINE static void filters_transposed(const V (&u)[6], V (&w)[3]) {
    const V sum_a = times(u[1] + u[2], na);
    const V sum_b = times(u[3] + u[4], nb);
    w[0] = add(u[0], n0, sum_a + sum_b);
    w[1] = add(u[1] - u[2], a * na, times(u[3] - u[4], b * nb));
    w[2] = add(sum_a, a2, add(sum_b, b2, u[5]));
  }
};

/// Applies a transform to the columns and then to the rows of a square: kIn x kIn to kOut x kOut vectors.
///   load(i, j) gives an input, store(i, j, vector) takes an output
template <int kIn, int kOut, class V, class Transform, class Load, class Store>
HWY_INLINE void transform_square(const Transform& transform, const Load& load, const Store& store) {
  V half[kOut][kIn];
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
    V in[kIn];
    V out[kOut];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) in[i] = load(i, j);
    transform(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < kOut; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kOut; ++i) {
    V out[kOut];
    transform(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < kOut; ++j) store(i, j, out[j]);
  }
}

}  // namespace simd
}  // namespace HWY_NAMESPACE
}  // namespace batchplus::kernels
HWY_AFTER_NAMESPACE();

#endif  // BATCHPLUS_KERNELS_WINOGRAD_TRANSFORMS_INL_H
