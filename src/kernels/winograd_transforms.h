#pragma once

#include "kernels/simd.h"

// Winograd's minimal filtering in one dimension, F(m, 3): m outputs of a filter of 3 from m + 2 inputs d with
// m + 2 multiplications,
//   y = A^T [(G w) . (B^T d)],
// by evaluating polynomials at m + 1 points and at infinity. In two dimensions each transform is applied to
// the columns and to the rows. The backward pass uses the transposed transforms: with g the gradient of y,
//   d's gradient is B [(G w) . (A g)] and w's gradient is G^T [(B^T d) . (A g)].
namespace batchplus::kernels::simd {

template <int kTile>
struct Filtering;

/// F(2, 3) at the points 0, 1, -1: sums and differences. They magnify roundings by 5/3 on large maps and by 2
/// on maps of 2x2 (convolution_test.cpp).
template <>
struct Filtering<2> {
  [[gnu::always_inline]] static void inputs(const Vector (&d)[4], Vector (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  [[gnu::always_inline]] static void inputs_transposed(const Vector (&v)[4], Vector (&d)[4]) {
    d[0] = v[0];
    d[1] = v[1] - v[2] - v[3];
    d[2] = v[1] + v[2] - v[0];
    d[3] = v[3];
  }
  [[gnu::always_inline]] static void outputs(const Vector (&m)[4], Vector (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
  [[gnu::always_inline]] static void outputs_transposed(const Vector (&g)[2], Vector (&m)[4]) {
    m[0] = g[0];
    m[1] = g[0] + g[1];
    m[2] = g[0] - g[1];
    m[3] = g[1];
  }
  [[gnu::always_inline]] static void filters(const Vector (&w)[3], Vector (&u)[4]) {
    const Vector even = (w[0] + w[2]) * 0.5F;
    const Vector odd = w[1] * 0.5F;
    u[0] = w[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = w[2];
  }
  [[gnu::always_inline]] static void filters_transposed(const Vector (&u)[4], Vector (&w)[3]) {
    const Vector sum = (u[1] + u[2]) * 0.5F;
    w[0] = u[0] + sum;
    w[1] = (u[1] - u[2]) * 0.5F;
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

  [[gnu::always_inline]] static void inputs(const Vector (&d)[6], Vector (&v)[6]) {
    v[0] = d[0] * (a2 * b2) - d[2] * (a2 + b2) + d[4];
    const Vector even_a = d[4] - d[2] * b2;
    const Vector odd_a = d[3] - d[1] * b2;
    v[1] = even_a + odd_a * a;
    v[2] = even_a - odd_a * a;
    const Vector even_b = d[4] - d[2] * a2;
    const Vector odd_b = d[3] - d[1] * a2;
    v[3] = even_b + odd_b * b;
    v[4] = even_b - odd_b * b;
    v[5] = d[1] * (a2 * b2) - d[3] * (a2 + b2) + d[5];
  }
  [[gnu::always_inline]] static void inputs_transposed(const Vector (&v)[6], Vector (&d)[6]) {
    const Vector sum_a = v[1] + v[2];
    const Vector sum_b = v[3] + v[4];
    const Vector difference_a = (v[1] - v[2]) * a;
    const Vector difference_b = (v[3] - v[4]) * b;
    d[0] = v[0] * (a2 * b2);
    d[1] = v[5] * (a2 * b2) - difference_a * b2 - difference_b * a2;
    d[2] = -(v[0] * (a2 + b2)) - sum_a * b2 - sum_b * a2;
    d[3] = difference_a + difference_b - v[5] * (a2 + b2);
    d[4] = v[0] + sum_a + sum_b;
    d[5] = v[5];
  }
  [[gnu::always_inline]] static void outputs(const Vector (&m)[6], Vector (&y)[4]) {
    const Vector sum_a = m[1] + m[2];
    const Vector sum_b = m[3] + m[4];
    const Vector difference_a = (m[1] - m[2]) * a;
    const Vector difference_b = (m[3] - m[4]) * b;
    y[0] = m[0] + sum_a + sum_b;
    y[1] = difference_a + difference_b;
    y[2] = sum_a * a2 + sum_b * b2;
    y[3] = difference_a * a2 + difference_b * b2 + m[5];
  }
  [[gnu::always_inline]] static void outputs_transposed(const Vector (&g)[4], Vector (&m)[6]) {
    const Vector even_a = g[0] + g[2] * a2;
    const Vector odd_a = g[1] + g[3] * a2;
    const Vector even_b = g[0] + g[2] * b2;
    const Vector odd_b = g[1] + g[3] * b2;
    m[0] = g[0];
    m[1] = even_a + odd_a * a;
    m[2] = even_a - odd_a * a;
    m[3] = even_b + odd_b * b;
    m[4] = even_b - odd_b * b;
    m[5] = g[3];
  }
  [[gnu::always_inline]] static void filters(const Vector (&w)[3], Vector (&u)[6]) {
    const Vector even_a = (w[0] + w[2] * a2) * na;
    const Vector odd_a = w[1] * (a * na);
    const Vector even_b = (w[0] + w[2] * b2) * nb;
    const Vector odd_b = w[1] * (b * nb);
    u[0] = w[0] * n0;
    u[1] = even_a + odd_a;
    u[2] = even_a - odd_a;
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = w[2];
  }
  [[gnu::always_inline]] static void filters_transposed(const Vector (&u)[6], Vector (&w)[3]) {
    const Vector sum_a = (u[1] + u[2]) * na;
    const Vector sum_b = (u[3] + u[4]) * nb;
    w[0] = u[0] * n0 + sum_a + sum_b;
    w[1] = (u[1] - u[2]) * (a * na) + (u[3] - u[4]) * (b * nb);
    w[2] = u[5] + sum_a * a2 + sum_b * b2;
  }
};

/// Applies a transform to the columns and then to the rows of a square: kIn x kIn to kOut x kOut vectors.
///   load(i, j) gives an input, store(i, j, vector) takes an output
template <int kIn, int kOut, class Transform, class Load, class Store>
[[gnu::always_inline]] inline void transform_square(const Transform& transform, const Load& load,
                                                    const Store& store) {
  Vector half[kOut][kIn];
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
    Vector in[kIn];
    Vector out[kOut];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) in[i] = load(i, j);
    transform(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < kOut; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kOut; ++i) {
    Vector out[kOut];
    transform(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < kOut; ++j) store(i, j, out[j]);
  }
}

}  // namespace batchplus::kernels::simd
