#include "store/run_directory.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::Scratch;

TEST(RunDirectory, ReadsBackWhatWasWritten) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "lr = 0.5\n", {{"commit", "abc"}});
  EXPECT_EQ(read_run(scratch / "run").status["status"], "running");
  writer.record({{"epoch", 1}, {"test_accuracy", 50.5}});
  writer.record({{"epoch", 2}, {"test_accuracy", 60}});
  writer.set_status("done", {{"weights_sha256", "ff"}});
  const StoredRun run = read_run(scratch / "run");
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

// It would stop at its first record, with three files written.
TEST(RunDirectory, IsNotThatOfASweep) {
  const Scratch scratch;
  write_file_atomically(scratch / "sweep.json", "{}");
  expect_error([&] { RunWriter(scratch.path(), "epochs = 3\n", {}); },
               {"the directory is that of a sweep", scratch.path().string()});
  EXPECT_FALSE(RunLayout{scratch.path()}.holds_run());
  EXPECT_FALSE(fs::exists(scratch / "lock"));
}

TEST(RunDirectory, LeavesFilesOfSomebodysOwnAlone) {
  for (const char* file : {"config.toml", "provenance.json", "metrics.jsonl", "weights.pt", "status.json"}) {
    const Scratch scratch;
    write_file_atomically(scratch / file, "mine");
    expect_error([&] { RunWriter(scratch.path(), "epochs = 3\n", Json::object()); },
                 {scratch.path().string()});
    EXPECT_EQ(read_file(scratch / file), "mine");
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << file;
  }
}

TEST(RunDirectory, BeginsNothingWhereOneOfItsFilesIsALink) {
  for (const char* file : {"metrics.jsonl", "weights.pt", "lock"}) {
    const Scratch scratch;
    fs::create_directory(scratch / "run");
    write_file_atomically(scratch / "outside", "precious");
    fs::create_symlink(scratch / "outside", scratch / "run" / file);
    expect_error([&] { RunWriter(scratch / "run", "", Json::object()); },
                 {"a symbolic link is there", file, "outside"});
    EXPECT_FALSE(fs::exists(scratch / "run" / "config.toml"));
    EXPECT_FALSE(fs::exists(scratch / "run" / "status.json"));
  }
}

// What it says of a file is what `check` says.
TEST(RunDirectory, SaysWhatIsMissingAndWhatIsDamaged) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  writer.record({{"epoch", 1}});
  writer.set_status("done", Json::object());
  fs::rename(scratch / "run" / "metrics.jsonl", scratch / "aside");
  expect_error([&] { read_run(scratch / "run"); }, {"it is missing", "metrics.jsonl"});
  fs::rename(scratch / "aside", scratch / "run" / "metrics.jsonl");
  write_file_atomically(scratch / "run" / "provenance.json", "{");
  expect_error([&] { read_run(scratch / "run"); }, {"not valid JSON", "provenance.json"});
  fs::remove(scratch / "run" / "provenance.json");
  expect_error([&] { read_run(scratch / "run"); }, {"it is missing", "provenance.json"});
}

TEST(RunDirectory, NamesTheDamagedLine) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  writer.record({{"epoch", 1}});
  append_line(scratch / "run" / "metrics.jsonl", "{\"epoch\": ");
  expect_error([&] { read_run(scratch / "run"); }, {"not valid JSON", "metrics.jsonl:2"});
}

TEST(RunDirectory, LeavesOutALineThatAKilledProcessDidNotFinish) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  writer.record({{"epoch", 1}});
  append_bytes(scratch / "run" / "metrics.jsonl", "{\"epoch\": 2, \"test_a");
  EXPECT_EQ(read_run(scratch / "run").metrics.size(), 1U);
}

TEST(RunDirectory, OneWriterAtATime) {
  const Scratch scratch;
  {
    const RunWriter writer(scratch / "run", "", Json::object());
    expect_error([&] { RunWriter(scratch / "run"); }, {"another process", "process"});
  }
  RunWriter(scratch / "run").resume("", Json::object(), "");
}

TEST(RunDirectory, ResumingKeepsTheHistoryAndTheRecordsOfTheCheckpoint) {
  const Scratch scratch;
  {
    RunWriter writer(scratch / "run", "lr = 0.5\n", {{"commit", "abc"}});
    writer.record({{"epoch", 1}});
    writer.record({{"epoch", 2}});
  }
  write_file_atomically(scratch / "run" / "status.json.batchplus-tmp.abcdef", "left by a killed process");
  write_file_atomically(scratch / "run" / "status.json.tmp.backup", "somebody's own");
  RunWriter writer(scratch / "run");
  writer.resume("lr = 0.5\n", {{"commit", "def"}}, "{\"epoch\":1}\n");
  writer.record({{"epoch", 2}});
  writer.set_status("done", Json::object());
  const StoredRun run = read_run(scratch / "run");
  EXPECT_EQ(run.metrics, (std::vector<Json>{{{"epoch", 1}}, {{"epoch", 2}}}));
  EXPECT_EQ(run.provenance["commit"], "abc");
  EXPECT_EQ(run.provenance["resumed"][0]["commit"], "def");
  EXPECT_FALSE(result_of(run.status).contains("provenance_sha256")) << "it is of the files, not of the run";
  EXPECT_FALSE(std::filesystem::exists(scratch / "run" / "status.json.batchplus-tmp.abcdef"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "run" / "status.json.tmp.backup"));
}

TEST(RunDirectory, NoticesWhatWasChangedAfterTheEnd) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "lr = 0.5\n", {{"commit", "abc"}});
  writer.record({{"epoch", 1}, {"test_accuracy", 50}});
  writer.set_status("done", {{"test_accuracy", 50}});
  const auto change = [&](const char* name, const std::string& from, const std::string& to) {
    const std::filesystem::path file = scratch / "run" / name;
    const std::string before = read_file(file);
    std::string after = before;
    after.replace(after.find(from), from.size(), to);
    write_file_atomically(file, after);
    expect_error([&] { read_run(scratch / "run"); }, {"not as it was written", name});
    write_file_atomically(file, before);
  };
  change("status.json", "\"test_accuracy\": 50", "\"test_accuracy\": 90");
  change("metrics.jsonl", "50", "90");
  change("config.toml", "0.5", "0.9");
  change("provenance.json", "abc", "abd");
  EXPECT_EQ(read_run(scratch / "run").metrics.size(), 1U);
}

TEST(RunDirectory, ReadsTheFormatWithoutChecksums) {
  const Scratch scratch;
  RunWriter(scratch / "run", "lr = 0.5\n", Json::object());
  write_file_atomically(scratch / "run" / "status.json", R"({"format_version": 1, "status": "done"})");
  EXPECT_EQ(read_run(scratch / "run").status["status"], "done");
}

TEST(RunDirectory, RefusesAFormatFromTheFuture) {
  const Scratch scratch;
  RunWriter writer(scratch / "run", "", Json::object());
  write_file_atomically(scratch / "run" / "status.json", R"({"format_version": 99, "status": "done"})");
  expect_error([&] { read_run(scratch / "run"); }, {"format", "99"});
}

}  // namespace
}  // namespace batchplus
