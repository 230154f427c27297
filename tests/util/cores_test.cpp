#include "util/cores.h"

#include <gtest/gtest.h>

#include <thread>

namespace batchplus {
namespace {

TEST(Cores, AThreadThatIsPinnedMayRunThereAlone) {
  const std::vector<int> before = usable_cores();
  ASSERT_FALSE(before.empty());
  std::vector<int> inside;
  std::thread thread([&] {
    pin_to({before.back()});
    inside = usable_cores();
  });
  thread.join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(usable_cores(), before);
}

}  // namespace
}  // namespace batchplus
