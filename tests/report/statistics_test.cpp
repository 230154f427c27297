#include "report/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/fixture.h"
#include "util/file.h"

namespace batchplus {
namespace {

using nlohmann::json;

/// Computed by SciPy: tests/fixtures/make_statistics.py.
const json& scipy() {
  static const json kNumbers = json::parse(read_file(testing::fixture("statistics.json")));
  return kNumbers;
}

// Both compute in double; their quantiles agree to about 1e-12.
constexpr double kTolerance = 1e-9;

TEST(Statistics, SummariesEqualSciPys) {
  for (const json& row : scipy()["summaries"]) {
    const Summary summary = summarize(row["values"].get<std::vector<double>>());
    EXPECT_NEAR(summary.mean, row["mean"].get<double>(), kTolerance);
    EXPECT_NEAR(summary.std.value(), row["std"].get<double>(), kTolerance);
    EXPECT_NEAR(summary.half_width.value(), row["half_width"].get<double>(), kTolerance);
  }
}

TEST(Statistics, ASingleValueHasNoSpread) {
  const Summary one = summarize({91.5});
  EXPECT_EQ(one.mean, 91.5);
  EXPECT_FALSE(one.std);
  EXPECT_FALSE(one.half_width);
  EXPECT_EQ(summarize({}).n, 0U);
}

TEST(Statistics, PairedTestsEqualSciPys) {
  for (const json& row : scipy()["paired"]) {
    const PairedTest test =
        compare_paired(row["a"].get<std::vector<double>>(), row["b"].get<std::vector<double>>());
    EXPECT_NEAR(test.p.value(), row["p"].get<double>(), kTolerance);
  }
  EXPECT_FALSE(compare_paired({1}, {2}).p) << "one pair tells nothing";
  EXPECT_EQ(compare_paired({1, 2, 3}, {1, 2, 3}).p, 1.0);
  EXPECT_EQ(compare_paired({2, 3}, {1, 2}).p, std::nullopt) << "the same difference each time";
  EXPECT_EQ(compare_paired({93.41, 92.51}, {93.40, 92.50}).p, std::nullopt) << "the same but for rounding";
  EXPECT_EQ(compare_paired({93.41, 92.51}, {93.40, 92.50}).difference.std, 0.0);
  EXPECT_EQ(compare_paired({93.41, 92.51}, {93.41, 92.51}).p, 1.0);
}

TEST(Statistics, KendallsTauEqualsSciPys) {
  for (const json& row : scipy()["ranks"]) {
    const RankCorrelation rank =
        kendall(row["x"].get<std::vector<double>>(), row["y"].get<std::vector<double>>());
    EXPECT_NEAR(rank.tau.value(), row["tau"].get<double>(), kTolerance);
    EXPECT_NEAR(rank.p.value(), row["p"].get<double>(), kTolerance) << "n = " << rank.n;
  }
  EXPECT_FALSE(kendall({1, 1, 1}, {1, 2, 3}).tau) << "a constant ranks nothing";
  EXPECT_FALSE(kendall({1}, {1}).tau);
}

// Holm 1979: the smallest of m values is multiplied by m, the next by m - 1, and none falls below the one
// before.
TEST(Statistics, HolmCorrectsInTheOrderOfTheValues) {
  const std::vector<double> corrected = correct_holm({0.03, 0.01, 0.04, 0.9});
  const std::vector<double> expected = {0.09, 0.04, 0.09, 0.9};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(corrected[i], expected[i], 1e-15);
}

}  // namespace
}  // namespace batchplus
