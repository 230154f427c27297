#pragma once

#include <cmath>
#include <cstdint>

namespace batchplus::testing {

// How far float32 may be from double precision, from the length of the sums and the arithmetic alone. So a
// bound is the same on every processor, however well or badly another library rounds there.

/// The root mean square of one rounding, relative to the number that is rounded, at the most: the error is
/// uniform within half a unit in the last place, and that unit is largest, 2^-23, next to a power of two.
inline const double kRounding = std::ldexp(1.0, -23) / std::sqrt(12.0);

/// That of a sum of independent terms with mean zero that are added one after the other: the partial sum
/// after k terms is sqrt(k) large and is rounded once, so the squares add up to terms (terms + 1) / 2
/// against terms. Sums in pieces round less.
inline double running_sum_rounding(int64_t terms) {
  return kRounding * std::sqrt((static_cast<double>(terms) + 1) / 2);
}

/// By how much the transforms of Winograd's F(4x4) magnify roundings on large maps: convolution_test.cpp
/// derives it.
inline constexpr double kWinogradMagnification = 5.14;

/// What a root mean square over `count` errors may come to when 1 is expected: three standard deviations
/// more.
inline double spread_of(int64_t count) {
  return 1 + 3 / std::sqrt(2 * static_cast<double>(count));
}

}  // namespace batchplus::testing
