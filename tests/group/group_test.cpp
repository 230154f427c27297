#include "group/group.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "group/background_sums.h"
#include "support/expect_error.h"
#include "support/ranks.h"

namespace batchplus::testing {
namespace {

/// Numbers whose sum depends on the order.
std::vector<float> numbers_of(int rank, size_t count) {
  std::mt19937 generator(static_cast<unsigned>(rank + 1));
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = std::exp(3 * normal(generator));
  return numbers;
}

// Few numbers and many take two ways, and more are cut into pieces.
class SumsOf : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Group, SumsOf, ::testing::Values(1, 1000, 10001, 200003));

TEST_P(SumsOf, APowerOfTwoOfRanksAreATree) {
  const size_t count = GetParam();
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back(numbers_of(rank, count));
  run_ranks(4, [&](Group& group) {
    std::vector<float> values = all[static_cast<size_t>(group.rank())];
    group.sum(values.data(), static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(values[i], (all[0][i] + all[1][i]) + (all[2][i] + all[3][i]));
    }
  });
}

TEST_P(SumsOf, OtherNumbersOfRanksAreAddedOneByOne) {
  const size_t count = GetParam();
  run_ranks(3, [&](Group& group) {
    std::vector<double> values;
    for (const float number : numbers_of(group.rank(), count)) values.push_back(number / 3.0);
    group.sum(values.data(), static_cast<int64_t>(count));
    std::vector<double> expected(count);
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<float> numbers = numbers_of(rank, count);
      for (size_t i = 0; i < count; ++i) expected[i] += numbers[i] / 3.0;
    }
    EXPECT_EQ(values, expected);
  });
}

TEST(BackgroundSums, AreThoseOfTheGroupWhileItMeets) {
  for (const int size : {2, 3, 4}) {
    run_ranks(size, [](Group& group) {
      std::vector<std::vector<float>> values;
      std::vector<std::vector<float>> expected;
      for (const size_t count : {1, 20000, 5, 9000}) {
        values.push_back(numbers_of(group.rank(), count));
        expected.push_back(values.back());
        group.sum(expected.back().data(), static_cast<int64_t>(count));
      }
      BackgroundSums sums(*group.companion());
      for (std::vector<float>& each : values) {
        sums.begin(each.data(), static_cast<int64_t>(each.size()));
        double meeting = group.rank();
        group.sum(&meeting, 1);
        EXPECT_EQ(meeting, group.size() * (group.size() - 1) / 2);
      }
      sums.finish();
      EXPECT_EQ(values, expected);
    });
  }
}

TEST(BackgroundSums, ALostRankIsNamedWhenTheyAreFinished) {
  run_ranks(2, [](Group& group) {
    if (group.rank() == 1) return;
    std::vector<float> values(1000, 1);
    BackgroundSums sums(*group.companion());
    sums.begin(values.data(), 1000);
    sums.begin(values.data(), 1000);
    expect_error([&] { sums.finish(); }, {"lost rank 1"});
  });
}

TEST(Group, GathersSharesThatAreUneven) {
  for (const int size : {1, 2, 3, 5}) {
    run_ranks(size, [&](Group& group) {
      constexpr int64_t kCount = 17;
      std::vector<int64_t> all(2 * kCount, -1);
      for (int64_t i = group.share_begin(kCount, group.rank());
           i < group.share_begin(kCount, group.rank() + 1); ++i) {
        all[static_cast<size_t>(2 * i)] = i;
        all[static_cast<size_t>(2 * i + 1)] = group.rank();
      }
      group.gather(all.data(), kCount, 2 * sizeof(int64_t));
      for (int64_t i = 0; i < kCount; ++i) {
        EXPECT_EQ(all[static_cast<size_t>(2 * i)], i);
        const auto owner = static_cast<int>(all[static_cast<size_t>(2 * i + 1)]);
        EXPECT_GE(i, group.share_begin(kCount, owner));
        EXPECT_LT(i, group.share_begin(kCount, owner + 1));
      }
    });
  }
}

TEST(Group, BroadcastsWhatRankZeroHas) {
  for (const int size : {1, 2, 3, 4, 7}) {
    run_ranks(size, [](Group& group) {
      int number = group.rank() + 42;
      group.broadcast(&number, sizeof number);
      EXPECT_EQ(number, 42);
    });
  }
}

TEST(Group, GathersTextsOfAnyLength) {
  run_ranks(3, [](Group& group) {
    const std::vector<std::string> texts = group.gather(std::string(static_cast<size_t>(group.rank()), 'x'));
    EXPECT_EQ(texts, (std::vector<std::string>{"", "x", "xx"}));
  });
}

TEST(Group, NamesTheRankThatDiffers) {
  run_ranks(3, [](Group& group) {
    group.agree("the config", "same", "");
    const std::string own = group.rank() == 2 ? "lr = 2" : "lr = 1";
    expect_error([&] { group.agree("the config", own, "give all ranks the same"); },
                 {"the config of rank 2 is not that of rank 0", "lr = 2", "give all ranks the same"});
  });
}

TEST(Group, ALostRankIsNamed) {
  run_ranks(2, [](Group& group) {
    if (group.rank() == 1) return;
    float value = 1;
    expect_error([&] { group.sum(&value, 1); }, {"lost rank 1"});
  });
}

}  // namespace
}  // namespace batchplus::testing
