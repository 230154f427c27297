#include "util/available_memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::Scratch;

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The files of a control group, as the kernel writes them.
void write_group(const Scratch& scratch, const std::string& limit_file, const std::string& limit,
                 const std::string& used_file, const std::string& used, const std::string& statistics) {
  write_file_atomically(scratch / limit_file, limit + "\n");
  write_file_atomically(scratch / used_file, used + "\n");
  write_file_atomically(scratch / "memory.stat", statistics);
}

TEST(AvailableMemory, IsSomethingHere) {
  const AvailableMemory memory = available_memory();
  EXPECT_GT(memory.bytes, 1 << 20);
  EXPECT_FALSE(memory.limited_by.empty());
}

TEST(AvailableMemory, CountsWhatAGroupHasLeftAndItsPageCache) {
  const Scratch v2;
  write_group(v2, "memory.max", "1000000", "memory.current", "700000", "anon 600000\ninactive_file 50000\n");
  EXPECT_EQ(memory_left_in_group(v2.path()), 350000);
  const Scratch v1;
  write_group(v1, "memory.limit_in_bytes", "1000000", "memory.usage_in_bytes", "700000",
              "inactive_file 1\ntotal_inactive_file 50000\n");
  EXPECT_EQ(memory_left_in_group(v1.path()), 350000);
}

TEST(AvailableMemory, KnowsBothWaysToSayNoLimit) {
  const Scratch v2;
  write_group(v2, "memory.max", "max", "memory.current", "700000", "inactive_file 50000\n");
  EXPECT_EQ(memory_left_in_group(v2.path()), kUnlimited);
  const Scratch v1;
  write_group(v1, "memory.limit_in_bytes", "9223372036854771712", "memory.usage_in_bytes", "700000",
              "total_inactive_file 50000\n");
  EXPECT_EQ(memory_left_in_group(v1.path()), kUnlimited);
  const Scratch none;
  EXPECT_EQ(memory_left_in_group(none.path()), kUnlimited);
}

}  // namespace
}  // namespace batchplus
