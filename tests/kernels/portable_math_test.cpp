#include "kernels/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace batchplus::kernels::portable {
namespace {

constexpr double kTolerance = 1e-15;

TEST(PortableMath, ExponentialsAreTheLibrarysWithinAFewRoundings) {
  for (double x = -740; x < 700; x += 0.0373) {
    EXPECT_NEAR(portable::exp(x) / std::exp(x), 1, x < -700 ? 1e-10 : kTolerance) << x;
  }
  EXPECT_EQ(portable::exp(0), 1);
  EXPECT_EQ(portable::exp(-800), 0);
  EXPECT_EQ(portable::exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(portable::exp(800), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(portable::exp(NAN)));
}

TEST(PortableMath, LogarithmsAreTheLibrarysWithinAFewRoundings) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    EXPECT_NEAR(portable::log(x), std::log(x), kTolerance * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (double x = 0.9; x < 1.1; x += 1e-4) EXPECT_NEAR(portable::log(x), std::log(x), 1e-16) << x;
  EXPECT_EQ(portable::log(1), 0);
  EXPECT_EQ(portable::log(0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(portable::log(-1)));
  EXPECT_TRUE(std::isnan(portable::log(NAN)));
}

TEST(PortableMath, SineAndCosineOfTurnsAreTheLibrarys) {
  for (int i = 0; i <= 4096; ++i) {
    const double u = i / 4096.0;
    const auto [sine, cosine] = sine_cosine_of_turn(u);
    EXPECT_NEAR(sine, std::sin(2 * M_PI * u), kTolerance) << u;
    EXPECT_NEAR(cosine, std::cos(2 * M_PI * u), kTolerance) << u;
  }
}

}  // namespace
}  // namespace batchplus::kernels::portable
