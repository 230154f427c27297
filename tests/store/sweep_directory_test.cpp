#include "store/sweep_directory.h"

#include <gtest/gtest.h>

#include <optional>

#include "store/run_directory.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::Scratch;

TEST(SweepDirectory, ARunThatNobodyHoldsIsInterruptedWhateverItsStatusSays) {
  const Scratch scratch;
  const SweepDirectory sweep{scratch / "s"};
  sweep.create();
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kWaiting);
  {
    const RunWriter writer(sweep.run("a"), "seed = 1\n", Json::object());
    EXPECT_EQ(state_of(sweep, "a"), SweepState::kRunning);
  }
  // As a killed process leaves it.
  EXPECT_EQ(read_status_word(sweep.run("a")), "running");
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kInterrupted);
  const auto taken = FileLock::try_lock(sweep.lock("a"));
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kRunning) << "a worker is about to go on with it";
}

TEST(SweepDirectory, AFinishedRunWithoutItsRecordsIsNotDone) {
  const Scratch scratch;
  const SweepDirectory sweep{scratch / "s"};
  sweep.create();
  {
    RunWriter writer(sweep.run("a"), "seed = 1\n", Json::object());
    writer.record({{"epoch", 1}});
    writer.set_status("done", Json::object());
  }
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kDone);
  write_file_atomically(RunLayout{sweep.run("a")}.metrics(), "");
  for (const RecordsCheck check : {RecordsCheck::kChecksum, RecordsCheck::kPresence})
    EXPECT_EQ(state_of(sweep, "a", check), SweepState::kInterrupted) << "emptied";
  write_file_atomically(RunLayout{sweep.run("a")}.metrics(), "{\"epoch\":2}\n");
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kInterrupted) << "changed";
  std::filesystem::remove(RunLayout{sweep.run("a")}.metrics());
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kInterrupted);
  EXPECT_TRUE(is_open(state_of(sweep, "a"))) << "a worker goes on with it";
}

TEST(SweepDirectory, ADivergedRunThatLostItsRecordsIsOpenToo) {
  const Scratch scratch;
  const SweepDirectory sweep{scratch / "s"};
  sweep.create();
  for (const char* id : {"a", "at once"}) {
    RunWriter writer(sweep.run(id), "seed = 1\n", Json::object());
    if (std::string(id) == "a") writer.record({{"epoch", 1}});
    writer.set_status("diverged", Json::object());
    EXPECT_EQ(state_of(sweep, id), SweepState::kDiverged) << id;
  }
  std::filesystem::remove(RunLayout{sweep.run("a")}.metrics());
  EXPECT_EQ(state_of(sweep, "a"), SweepState::kInterrupted);
}

}  // namespace
}  // namespace batchplus
