#include "util/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "support/expect_error.h"
#include "support/running.h"
#include "support/scratch.h"
#include "util/file.h"

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

TEST(FileLock, AskingWhetherItIsFreeTakesItFromNobody) {
  const Scratch scratch;
  EXPECT_TRUE(is_free(scratch / "lock")) << "nothing is there";
  EXPECT_FALSE(std::filesystem::exists(scratch / "lock")) << "and asking made nothing";
  auto lock = FileLock::try_lock(scratch / "lock");
  EXPECT_FALSE(is_free(scratch / "lock"));
  lock.reset();
  EXPECT_TRUE(is_free(scratch / "lock"));
  // Somebody who does nothing but ask is in nobody's way.
  std::atomic<bool> is_over = false;
  std::thread asking([&] {
    while (!is_over) is_free(scratch / "lock");
  });
  for (int i = 0; i < 200; ++i) EXPECT_NE(FileLock::try_lock(scratch / "lock"), nullptr);
  is_over = true;
  asking.join();
}

TEST(FileLock, LeavesAFileOfSomebodysOwnAlone) {
  const Scratch scratch;
  write_file_atomically(scratch / "lock", "the combination is 1234\n");
  testing::expect_error([&] { FileLock::try_lock(scratch / "lock"); }, {"not a lock", "1234"});
  EXPECT_EQ(read_file(scratch / "lock"), "the combination is 1234\n");
  // A signature that was cut short is one.
  write_file_atomically(scratch / "lock", "proc");
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
