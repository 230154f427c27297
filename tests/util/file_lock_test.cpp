#include "util/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/running.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

using testing::Scratch;

TEST(FileLock, OneHolderAtATimeAndItSigns) {
  const Scratch scratch;
  auto first = FileLock::try_lock(scratch / "lock");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(holder_of(scratch / "lock"), "");
  first->sign();
  EXPECT_NE(holder_of(scratch / "lock").find(std::to_string(::getpid())), std::string::npos);
  EXPECT_EQ(FileLock::try_lock(scratch / "lock"), nullptr);
  first.reset();
  EXPECT_NE(FileLock::try_lock(scratch / "lock"), nullptr);
}

TEST(FileLock, ADeadProcessLeavesItFree) {
  const Scratch scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::try_lock(scratch / "lock");
    if (lock) lock->sign();
    ::pause();
    ::_exit(0);
  }
  ASSERT_TRUE(testing::wait_until([&] { return !holder_of(scratch / "lock").empty(); }));
  EXPECT_EQ(FileLock::try_lock(scratch / "lock"), nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(FileLock::try_lock(scratch / "lock"), nullptr);
}

}  // namespace
}  // namespace batchplus
