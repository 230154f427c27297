#include "store/run_directory.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::Scratch;

TEST(RunDirectory, ReadsBackWhatWasWritten) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "lr = 0.5\n", {{"commit", "abc"}});
  EXPECT_EQ(read_run(scratch / "run").status["status"], "running");
  writer.record({{"epoch", 1}, {"test_accuracy", 50.5}});
  writer.record({{"epoch", 2}, {"test_accuracy", 60}});
  writer.set_status("done", {{"weights_sha256", "ff"}});
  const RunRecord run = read_run(scratch / "run");
  EXPECT_EQ(run.config_toml, "lr = 0.5\n");
  EXPECT_EQ(run.provenance["commit"], "abc");
  EXPECT_EQ(run.status["status"], "done");
  EXPECT_EQ(run.status["format_version"], kRunFormatVersion);
  EXPECT_EQ(run.status["weights_sha256"], "ff");
  ASSERT_EQ(run.metrics.size(), 2U);
  EXPECT_EQ(run.metrics[1]["epoch"], 2);
}

TEST(RunDirectory, RefusesADirectoryWithARunAndLeavesItAlone) {
  const Scratch scratch;
  RunWriter(scratch / "run", "lr = 0.5\n", Json::object());
  expect_error([&] { RunWriter(scratch / "run", "lr = 0.1\n", Json::object()); },
               {"already holds a run", "run"});
  EXPECT_EQ(read_run(scratch / "run").config_toml, "lr = 0.5\n");
}

TEST(RunDirectory, NamesTheDamagedLine) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  writer.record({{"epoch", 1}});
  append_line(scratch / "run" / "metrics.jsonl", "{\"epoch\": ");
  expect_error([&] { read_run(scratch / "run"); }, {"not valid JSON", "metrics.jsonl:2"});
}

TEST(RunDirectory, RefusesAFormatFromTheFuture) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  write_file_atomically(scratch / "run" / "status.json", R"({"format_version": 99, "status": "done"})");
  expect_error([&] { read_run(scratch / "run"); }, {"format", "99"});
}

}  // namespace
}  // namespace batchplus
