#include "watch/folder_signals.h"

#include <gtest/gtest.h>

#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::Scratch;

/// Longer than a test may take.
constexpr double kSeconds = 600;

TEST(FolderSignals, TellWhereARunsFilesAreWritten) {
  const Scratch scratch;
  for (const char* name : {"one", "two"}) fs::create_directory(scratch / name);
  const GivenFolder folder(scratch.path());
  FolderSignals signals;
  const int one = signals.follow(folder, "one");
  const int two = signals.follow(folder, "two");
  ASSERT_GE(one, 0);
  ASSERT_GE(two, 0);
  append_bytes(scratch / "two" / "checkpoint.pt", "weights");
  append_bytes(scratch / "two" / "metrics.jsonl", "{}\n");
  EXPECT_EQ(signals.wait(kSeconds).written, std::set<int>{two}) << "a checkpoint alone says nothing";
  append_bytes(scratch / "one" / "metrics.jsonl", "{}\n");
  EXPECT_EQ(signals.wait(kSeconds).written, std::set<int>{one});
  EXPECT_TRUE(signals.wait(0).written.empty());
}

TEST(FolderSignals, FollowNoLinkAndNoFolderThatIsGone) {
  const Scratch outside;
  const Scratch scratch;
  fs::create_directory(scratch / "run");
  fs::create_directory_symlink(outside.path(), scratch / "link");
  const GivenFolder folder(scratch.path());
  FolderSignals signals;
  EXPECT_EQ(signals.follow(folder, "link"), -1);
  EXPECT_EQ(signals.follow(folder, "nowhere"), -1);
  EXPECT_EQ(signals.follow(folder, "../"), -1);
  const int run = signals.follow(folder, "run");
  ASSERT_GE(run, 0);
  fs::remove(scratch / "run");
  EXPECT_EQ(signals.wait(kSeconds).gone, std::set<int>{run});
}

TEST(FolderSignals, EndAWaitWhenTheyAreWoken) {
  FolderSignals signals;
  signals.wake();
  EXPECT_TRUE(signals.wait(kSeconds).written.empty());
}

}  // namespace
}  // namespace batchplus
