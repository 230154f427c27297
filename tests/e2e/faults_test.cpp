// What can happen to a run from outside: signals, a second process, a full or read-only disk, a directory
// that vanishes, damaged files. Afterwards it goes on and ends as if nothing had happened.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/machine.h"
#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::program;
using testing::result_of;
using testing::Scratch;
using testing::timeless_records;
using testing::wait_for;
using testing::wait_until;
using testing::weights_of_run;
using testing::with_options;
using Options = std::vector<std::string>;

/// A run of two or three seconds with checkpoints of 2.8 MB.
const Options kRun = {"--model",      "smallcnn", "--method",      "nag", "--train-limit",      "320",
                      "--test-limit", "50",       "--inner-batch", "32",  "--epochs",           "12",
                      "--lr",         "0.02",     "--threads",     "1",   "--checkpoint-every", "0.2"};

Options operator+(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Options train_in(const fs::path& out, const Options& more = {}) {
  return with_options(Options{"train", "--quiet", "--out", out.string()} + kRun, more);
}

class Faults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    whole = new Scratch;
    ASSERT_EQ(batchplus(train_in(*whole / "run", {"--checkpoint-every", "never"})).exit_code, 0);
  }
  static void TearDownTestSuite() { delete whole; }

  bool has_checkpoint() const { return fs::exists(run / "checkpoint.pt"); }
  /// Resumes it and compares.
  void expect_as_whole() {
    const ProcessResult rest = batchplus({"train", "--resume", "--out", run.string()});
    ASSERT_EQ(rest.exit_code, 0) << rest.output;
    EXPECT_THAT(rest.output, HasSubstr("resumed after"));
    EXPECT_EQ(weights_of_run(run), weights_of_run(*whole / "run"));
    EXPECT_EQ(timeless_records(run), timeless_records(*whole / "run"));
  }

  static Scratch* whole;
  Scratch scratch;
  fs::path run = scratch / "run";
  fs::path log = scratch / "log";
};

Scratch* Faults::whole = nullptr;

TEST_F(Faults, ASignalSavesTheRunAndTheExitCodeNamesIt) {
  int64_t epochs = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGINT}) {
    ChildProcess child(program(train_in(run, {"--resume", "--checkpoint-every", "never"})), log);
    epochs += 2;
    ASSERT_TRUE(wait_until([&] {
      const std::string lines = fs::exists(run / "metrics.jsonl") ? read_file(run / "metrics.jsonl") : "";
      return std::count(lines.begin(), lines.end(), '\n') >= epochs;
    }));
    child.send(signal);
    ASSERT_EQ(wait_for(child), 128 + signal) << read_file(log);
    EXPECT_TRUE(has_checkpoint());
    EXPECT_EQ(json::parse(read_file(run / "status.json"))["status"], "interrupted");
  }
  EXPECT_THAT(read_file(log), HasSubstr("--resume"));
  expect_as_whole();
}

TEST_F(Faults, ASecondSignalEndsItAtOnce) {
  // One outer step takes longer than all the rest of the test. A checkpoint at its beginning tells of it.
  ChildProcess child(program({"train", "--quiet", "--out", run.string(), "--model", "smallcnn", "--method",
                              "svrg", "--epochs", "1", "--threads", "1", "--checkpoint-every", "1e-9s"}),
                     log);
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  child.send(SIGTERM);
  ASSERT_TRUE(wait_until([&] { return child.exit_code() || testing::has_taken(child, SIGTERM); }));
  const double computed = child.exit_code() ? 0 : testing::computed_seconds(child);
  ASSERT_TRUE(
      wait_until([&] { return child.exit_code() || testing::computed_seconds(child) > computed + 0.1; }));
  ASSERT_FALSE(child.exit_code()) << "the first one waits for the outer step";
  child.send(SIGTERM);
  EXPECT_EQ(wait_for(child), 128 + SIGTERM) << read_file(log);
  EXPECT_EQ(json::parse(read_file(run / "status.json"))["status"], "running")
      << "nothing was written any more";
}

TEST_F(Faults, TwoProcessesDoNotShareADirectoryAndADeadOneLeavesItFree) {
  ChildProcess child(program(train_in(run)), log);
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  child.send(SIGSTOP);  // so that it has not ended before the others have begun
  for (const char* option : {"--resume", "--quiet"}) {
    const ProcessResult second = batchplus(train_in(run, {option}));
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_THAT(second.output, HasSubstr("another process"));
    EXPECT_THAT(second.output, HasSubstr(std::to_string(child.id()))) << "it says which";
  }
  child.send(SIGKILL);
  EXPECT_EQ(wait_for(child), 128 + SIGKILL);
  expect_as_whole();
}

TEST_F(Faults, ADivergedRunKeepsItsLastGoodCheckpoint) {
  const Options options = {
      "train",   "--out",       run.string(), "--quiet",       "--json", "--method",
      "bp-svrg", "--epochs",    "3",          "--train-limit", "320",    "--test-limit",
      "50",      "--lr",        "1e30",       "--inner-batch", "32",     "--warmup-epochs",
      "1",       "--warmup-lr", "0.01"};
  const ProcessResult diverged = batchplus(options);
  EXPECT_EQ(diverged.exit_code, 3);
  EXPECT_THAT(diverged.output, HasSubstr("checkpoint.pt"));
  EXPECT_EQ(json::parse(read_file(run / "status.json"))["status"], "diverged");
  EXPECT_FALSE(fs::exists(run / "weights.pt"));
  const json evaluation =
      result_of(batchplus({"eval", "--weights", (run / "checkpoint.pt").string(), "--model", "mlp",
                           "--dataset", "synthetic", "--quiet", "--json"}));
  EXPECT_TRUE(evaluation["loss"].is_number()) << "its weights are finite";
  EXPECT_EQ(batchplus(options + Options{"--resume"}).exit_code, 3) << "it is over";
}

TEST_F(Faults, MemoryThatIsNotThereIsAskedForBeforeTheStart) {
  // 6 GiB of address space for a batch whose activations alone take more.
  const ProcessResult refused =
      run_process({"sh", "-c", "ulimit -v 6291456; exec \"$@\"", "sh", BATCHPLUS_PROGRAM, "train", "--model",
                   "resnet32", "--inner-batch", "5000", "--threads", "1", "--out", run.string()},
                  "/");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("more memory than there is"));
  EXPECT_THAT(refused.output, HasSubstr("GiB needed"));
  EXPECT_THAT(refused.output, HasSubstr("left on ulimit -v"));
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(Faults, ADirectoryThatVanishesStopsItAndComesBack) {
  ChildProcess child(program(train_in(run)), log);
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  fs::rename(run, scratch / "elsewhere");
  EXPECT_EQ(wait_for(child), 1);
  EXPECT_THAT(read_file(log), HasSubstr("No such file or directory"));
  EXPECT_FALSE(fs::exists(run)) << "nothing new appears in its place";
  fs::rename(scratch / "elsewhere", run);
  expect_as_whole();
}

TEST_F(Faults, AFileSizeLimitStopsItWithWhatWasWrittenIntact) {
  // 2 MiB in units of 512 bytes: less than a checkpoint.
  const ProcessResult stopped =
      run_process(Options{"sh", "-c", "ulimit -f 4096; exec \"$@\"", "sh"} + program(train_in(run)), "/");
  EXPECT_EQ(stopped.exit_code, 1) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("File too large"));
  EXPECT_THAT(stopped.output, HasSubstr("go on with --resume"));
  expect_as_whole();
}

/// Runs a shell script where $D is a file system of 7 MB of its own. Mount namespaces may be forbidden.
class SmallDisk : public Faults {
 protected:
  void SetUp() override { testing::machine_has("namespaces", in_small_disk("true", {}).exit_code == 0); }
  ProcessResult in_small_disk(const std::string& script, const Options& arguments) {
    fs::create_directories(scratch / "disk");
    const std::string whole_script = "D=\"$0\"; mount -t tmpfs -o size=7m none \"$D\" || exit 99\n" + script;
    return run_process(
        Options{"unshare", "-rm", "sh", "-c", whole_script, (scratch / "disk").string()} + arguments, "/");
  }
};

// Two checkpoints of 2.8 MB fit and the third does not. With more space the run goes on.
TEST_F(SmallDisk, AFullOneStopsTheRunAndLosesNothing) {
  const ProcessResult result = in_small_disk(
      "\"$@\"; echo \"first exit $?\"\n"
      "ls -A \"$D/run\"; cat \"$D/run/status.json\" > /dev/null || exit 98\n"
      "mount -o remount,size=30m \"$D\" || exit 97\n"
      "\"$@\" --resume; echo \"second exit $?\"; cp -r \"$D/run\" \"$D/../run\"",
      program(train_in(scratch / "disk" / "run")));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("No space left on device"));
  EXPECT_THAT(result.output, HasSubstr("first exit 1"));
  EXPECT_THAT(result.output, HasSubstr("checkpoint.previous.pt"));
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("-tmp."))) << "nothing is left lying about";
  EXPECT_THAT(result.output, HasSubstr("second exit 0"));
  EXPECT_EQ(weights_of_run(run), weights_of_run(*whole / "run"));
  EXPECT_EQ(timeless_records(run), timeless_records(*whole / "run"));
}

TEST_F(SmallDisk, AReadOnlyOneIsRefusedAndLosesNothing) {
  const ProcessResult result = in_small_disk(
      "mount -o remount,size=30m \"$D\"\n"
      "\"$@\" & P=$!\n"
      "for i in $(seq 6000); do [ -e \"$D/run/checkpoint.pt\" ] && break; sleep 0.01; done\n"
      "kill -KILL $P; wait $P\n"
      "mount -o remount,ro \"$D\" || exit 97\n"
      "\"$@\" --resume; echo \"first exit $?\"\n"
      "mount -o remount,rw \"$D\"\n"
      "\"$@\" --resume; echo \"second exit $?\"; cp -r \"$D/run\" \"$D/../run\"",
      program(train_in(scratch / "disk" / "run")));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Read-only file system"));
  EXPECT_THAT(result.output, HasSubstr("first exit 2"));
  EXPECT_THAT(result.output, HasSubstr("second exit 0"));
  EXPECT_EQ(weights_of_run(run), weights_of_run(*whole / "run"));
  EXPECT_EQ(timeless_records(run), timeless_records(*whole / "run"));
}

// The checks at every offset are in tests/checkpoint/storage_test.cpp and tests/run/resume_test.cpp;
// here the whole program meets a few of them.
TEST_F(Faults, ADamagedConfigIsRefusedAndOtherFilesAreMadeGood) {
  ChildProcess child(program(train_in(run)), log);
  ASSERT_TRUE(wait_until(
      [&] { return fs::exists(run / "checkpoint.previous.pt") && fs::exists(run / "metrics.jsonl"); }));
  child.send(SIGTERM);
  ASSERT_EQ(wait_for(child), 128 + SIGTERM);
  const Scratch copies;
  int number = 0;
  for (const char* file :
       {"checkpoint.pt", "status.json", "config.toml", "metrics.jsonl", "provenance.json"}) {
    for (const double share : {0.1, 0.6}) {
      const fs::path copy = copies / std::to_string(number++);
      fs::copy(run, copy, fs::copy_options::recursive);
      std::string bytes = read_file(copy / file);
      bytes[static_cast<size_t>(share * static_cast<double>(bytes.size()))] ^= 0x10;
      write_file_atomically(copy / file, bytes);
      const ProcessResult resumed = batchplus({"train", "--resume", "--quiet", "--out", copy.string()});
      SCOPED_TRACE(fmt::format("{} at {}: {}", file, share, resumed.output));
      // It stands for the options, which are not given again.
      if (std::string(file) == "config.toml") {
        EXPECT_EQ(resumed.exit_code, 2);
        EXPECT_THAT(resumed.output, HasSubstr(file));
        continue;
      }
      EXPECT_EQ(resumed.exit_code, 0);
      EXPECT_EQ(weights_of_run(copy), weights_of_run(*whole / "run"));
      EXPECT_EQ(timeless_records(copy), timeless_records(*whole / "run"));
    }
  }
}

TEST(SweepFaults, AnInterruptedSweepGoesOnWhereItWas) {
  const Scratch scratch;
  write_file_atomically(
      scratch / "s.toml",
      "title = \"t\"\n[base]\ndataset = \"synthetic\"\nmodel = \"smallcnn\"\nmethod = \"bp-svrg\"\n"
      "train_limit = 640\ntest_limit = 50\ninner_batch = 32\nlr = 0.02\nepochs = 6\nrepeats = 2\n");
  const auto sweep = [&](const std::string& out) {
    return Options{"sweep", scratch / "s.toml", "--out", scratch / out, "--workers",
                   "2",     "--threads",        "1",     "--quiet"};
  };
  ASSERT_EQ(batchplus(sweep("whole")).exit_code, 0);
  {
    ChildProcess child(program(sweep("cut")), scratch / "log");
    const fs::path runs = scratch / "cut" / "runs";
    ASSERT_TRUE(wait_until([&] {
      if (!fs::exists(runs)) return false;
      int checkpoints = 0;
      for (const auto& entry : fs::directory_iterator(runs))
        checkpoints += fs::exists(entry.path() / "checkpoint.pt");
      return checkpoints == 2;
    }));
    child.send(SIGINT);
    EXPECT_EQ(wait_for(child), 128 + SIGINT) << read_file(scratch / "log");
  }
  const ProcessResult rest = batchplus(sweep("cut"));
  ASSERT_EQ(rest.exit_code, 0) << rest.output;
  int resumed = 0;
  for (const auto& entry : fs::directory_iterator(scratch / "whole" / "runs")) {
    const fs::path other = scratch / "cut" / "runs" / entry.path().filename();
    EXPECT_EQ(weights_of_run(other), weights_of_run(entry.path()));
    EXPECT_EQ(timeless_records(other), timeless_records(entry.path()));
    resumed += json::parse(read_file(other / "provenance.json")).contains("resumed") ? 1 : 0;
  }
  EXPECT_EQ(resumed, 2);
}

}  // namespace
}  // namespace batchplus
