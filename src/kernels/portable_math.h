#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

/// Elementary functions by additions and multiplications in a fixed order, for files that are compiled
/// without floating-point contraction: the same bits on every machine, which no C library promises. Within
/// 1e-15 of the exact value, relatively.
namespace batchplus::kernels::portable {

/// c[0] + c[1] x + ... + c[kTerms - 1] x^(kTerms - 1)
template <int kTerms>
inline double polynomial(const double (&c)[kTerms], double x) {
  double sum = c[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

/// e^x: 2^k e^r with |r| <= log(2) / 2.
inline double exp(double x) {
  constexpr double kLog2High = 0x1.62e42feep-1;  // so few digits that k times it is exact
  constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
  constexpr double kInverseFactorials[] = {1.0,
                                           1.0,
                                           1.0 / 2,
                                           1.0 / 6,
                                           1.0 / 24,
                                           1.0 / 120,
                                           1.0 / 720,
                                           1.0 / 5040,
                                           1.0 / 40320,
                                           1.0 / 362880,
                                           1.0 / 3628800,
                                           1.0 / 39916800,
                                           1.0 / 479001600,
                                           1.0 / 6227020800};
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -745) return 0;
  const double k = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - k * kLog2High) - k * kLog2Low;
  return std::ldexp(polynomial(kInverseFactorials, r), static_cast<int>(k));
}

/// The natural logarithm of x > 0: that of a number m near 1 by 2 artanh((m - 1) / (m + 1)), and of a power
/// of two.
inline double log(double x) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1;
  constexpr double kSeries[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  if (!(x > 0) || x > std::numeric_limits<double>::max()) {
    return x > 0 ? x
                 : (x == 0 ? -std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN());
  }
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [1/2, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double f = (m - 1) / (m + 1);
  return f * polynomial(kSeries, f * f) + exponent * kLog2;
}

struct SineCosine {
  double sine;
  double cosine;
};

/// Of 2 pi u, for u in [0, 1]: by the nearest quarter of a turn.
inline SineCosine sine_cosine_of_turn(double u) {
  constexpr double kSine[] = {1.0,
                              -1.0 / 6,
                              1.0 / 120,
                              -1.0 / 5040,
                              1.0 / 362880,
                              -1.0 / 39916800,
                              1.0 / 6227020800.0,
                              -1.0 / 1307674368000.0,
                              1.0 / 355687428096000.0};
  constexpr double kCosine[] = {1.0,
                                -1.0 / 2,
                                1.0 / 24,
                                -1.0 / 720,
                                1.0 / 40320,
                                -1.0 / 3628800,
                                1.0 / 479001600.0,
                                -1.0 / 87178291200.0,
                                1.0 / 20922789888000.0,
                                -1.0 / 6402373705728000.0};
  const double quarter = std::floor(4 * u + 0.5);
  const double angle = (u - quarter / 4) * 6.283185307179586;
  const double sine = angle * polynomial(kSine, angle * angle);
  const double cosine = polynomial(kCosine, angle * angle);
  switch (static_cast<int64_t>(quarter) % 4) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace batchplus::kernels::portable
