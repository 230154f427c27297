#include "watch/run_evidence.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

using Holder = RunEvidence::Holder;

TEST(RunEvidence, GivesEachStateAWord) {
  EXPECT_EQ(state_word({}), "waiting");
  EXPECT_EQ(state_word({.word = "done"}), "done");
  EXPECT_EQ(state_word({.word = "diverged"}), "diverged");
  EXPECT_EQ(state_word({.word = "running", .has_failed = true}), "failed");
  EXPECT_EQ(state_word({.word = "running", .is_broken = true}), "broken");
  EXPECT_EQ(state_word({.word = "running", .holder = Holder::kNobody}), "interrupted");
  EXPECT_EQ(state_word({.word = "running", .holder = Holder::kHere}), "running");
  EXPECT_EQ(state_word({.word = "running", .holder = Holder::kElsewhere}), "running");
  EXPECT_EQ(state_word({.word = "interrupted", .holder = Holder::kHere}), "running");
  EXPECT_EQ(state_word({.word = "interrupted", .holder = Holder::kElsewhere}), "interrupted");
}

TEST(RunEvidence, IsSilentWhenItWritesNothingForFarLongerThanUsual) {
  const auto quiet = [](double seconds, double usual) {
    return state_word(
        {.word = "running", .holder = Holder::kElsewhere, .quiet_seconds = seconds, .usual_seconds = usual});
  };
  EXPECT_EQ(quiet(119, 0), "running");
  EXPECT_EQ(quiet(121, 0), "silent");
  EXPECT_EQ(quiet(121, 60), "running");
  EXPECT_EQ(quiet(301, 60), "silent");
}

TEST(RunEvidence, FindsLocksThatAreHeldAndNotThoseThatWait) {
  const auto held = held_locks(
      "1: POSIX  ADVISORY  WRITE 29322 fe:00:1283846 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 11448 fe:00:1245506 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 77 fe:00:1245506 0 EOF\n"
      "3: FLOCK  ADVISORY  READ 12 fe:00:5 0 EOF\n"
      "not a line\n4: FLOCK ADVISORY WRITE x y 0 EOF\n");
  EXPECT_EQ(held, (std::set<std::pair<int64_t, uint64_t>>{{11448, 1245506}}));
}

TEST(RunEvidence, ReadsWhoSignedALock) {
  const auto holder = parse_lock_holder("process 4711 on some-host, since 2026-01-31T12:00:00Z\n");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->process, 4711);
  EXPECT_EQ(holder->machine, "some-host");
  for (const char* text : {"", "process", "process x on y, since z", "something else on here, too"})
    EXPECT_FALSE(parse_lock_holder(text)) << text;
}

}  // namespace
}  // namespace batchplus
