#include "core/random_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace batchplus {
namespace {

// Known answer of the Random123 distribution for philox4x32-10 with counter 0 and key 0, first word; the
// purpose is part of the counter, so the engine itself is checked.
TEST(RandomStream, RestsOnPhilox4x32With10Rounds) {
  at::philox_engine engine(/*seed=*/0, /*subsequence=*/0, /*offset=*/0);
  EXPECT_EQ(engine(), 0x6627e8d5U);
  EXPECT_EQ(engine(), 0xe169c58dU);
  EXPECT_EQ(engine(), 0xbc57ac4cU);
  EXPECT_EQ(engine(), 0x9b00dbd8U);
}

TEST(RandomStream, DependsOnEachPartOfItsKeyAndOnNothingElse) {
  const auto first = [](uint64_t seed, RandomPurpose purpose, uint64_t epoch, uint64_t index) {
    return RandomStream(seed, purpose, epoch, index).next_u64();
  };
  const uint64_t base = first(1, RandomPurpose::kOrder, 2, 3);
  EXPECT_EQ(first(1, RandomPurpose::kOrder, 2, 3), base);
  EXPECT_NE(first(2, RandomPurpose::kOrder, 2, 3), base);
  EXPECT_NE(first(1, RandomPurpose::kDropout, 2, 3), base);
  EXPECT_NE(first(1, RandomPurpose::kOrder, 3, 3), base);
  EXPECT_NE(first(1, RandomPurpose::kOrder, 2, 4), base);
}

TEST(RandomStream, DrawsBelowABoundEvenly) {
  constexpr uint32_t kBound = 9;
  constexpr int kDraws = 90000;
  std::vector<int> counts(kBound);
  RandomStream stream(5, RandomPurpose::kOrder);
  for (int i = 0; i < kDraws; ++i) ++counts[stream.next_below(kBound)];
  double chi_square = 0;
  for (const int count : counts) {
    const double expected = static_cast<double>(kDraws) / kBound;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 26.1);  // 99.9 % quantile with 8 degrees of freedom; the seed is fixed
}

TEST(RandomPermutation, HoldsEveryNumberOnce) {
  auto order = random_permutation(1000, RandomStream(1, RandomPurpose::kOrder));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(RandomSubset, HoldsDifferentNumbersAndReachesAll) {
  std::set<int64_t> reached;
  for (uint64_t draw = 0; draw < 50; ++draw) {
    const auto subset = random_subset(20, 7, RandomStream(1, RandomPurpose::kOrder, draw));
    EXPECT_EQ(std::set<int64_t>(subset.begin(), subset.end()).size(), 7U);
    for (const int64_t number : subset) {
      EXPECT_GE(number, 0);
      EXPECT_LT(number, 20);
      reached.insert(number);
    }
  }
  EXPECT_EQ(reached.size(), 20U);
}

TEST(RandomSubset, OfEverythingIsAPermutation) {
  const auto subset = random_subset(10, 10, RandomStream(3, RandomPurpose::kOrder));
  EXPECT_EQ(std::set<int64_t>(subset.begin(), subset.end()).size(), 10U);
}

}  // namespace
}  // namespace batchplus
