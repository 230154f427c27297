// Sweeps as a user runs them: real workers, one of them killed, files shared between them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/program.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::result_of;
using testing::Scratch;

/// Six short runs.
std::string write_spec(const Scratch& scratch) {
  write_file_atomically(scratch / "short.toml", R"(title = "short"
[base]
dataset = "synthetic"
model = "mlp"
train_limit = 640
test_limit = 100
inner_batch = 32
epochs = 4
repeats = 3
[[axis]]
name = "method"
  [[axis.value]]
  label = "SGD"
  method = "sgd"
  [[axis.value]]
  label = "BP-SVRG"
  method = "bp-svrg"
[scale.paper]
[scale.bad]
train_limit = 31
)");
  return scratch / "short.toml";
}

std::map<std::string, std::string> weights_of(const fs::path& sweep) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : fs::directory_iterator(sweep / "runs")) {
    const json status = json::parse(read_file(entry.path() / "status.json"));
    EXPECT_EQ(status["status"], "done");
    hashes[entry.path().filename()] = status["weights_sha256"];
  }
  return hashes;
}

TEST(Sweep, DryRunListsTheRunsWithTheirCosts) {
  const Scratch scratch;
  const json plan = result_of(batchplus({"sweep", write_spec(scratch), "--dry-run", "--json"}));
  ASSERT_EQ(plan["runs"].size(), 6);
  for (const json& run : plan["runs"]) {
    for (const char* key : {"id", "dataset", "model", "method", "seed", "lr", "gradient_evaluations",
                            "samples", "estimated_seconds"}) {
      EXPECT_TRUE(run.contains(key)) << key;
    }
    EXPECT_GT(run["estimated_seconds"], 0);
    EXPECT_EQ(run["samples"], run["method"] == "sgd" ? 4 * 640 : 4 * 960);
  }
}

// Every run ends once and the same, whoever ran it: one worker, or two of which one is killed and its run
// resumed.
TEST(Sweep, GivesTheSameResultsWithOneWorkerAndWithAKilledOne) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const auto arguments = [&](const std::string& out, const std::string& workers) {
    return std::vector<std::string>{"sweep", spec,        "--out", scratch / out, "--workers",
                                    workers, "--threads", "1",     "--quiet",     "--json"};
  };
  const json alone = result_of(batchplus(arguments("one", "1")));
  EXPECT_EQ(alone["done"], 6);

  // A worker by itself, killed once it has begun a run.
  {
    std::vector<std::string> worker = {BATCHPLUS_PROGRAM, "sweep", spec,        "--out", scratch / "two",
                                       "--worker-cores",  "0",     "--threads", "1",     "--quiet"};
    ChildProcess child(worker, scratch / "worker.log");
    while (!child.exit_code() &&
           (!fs::exists(scratch / "two" / "runs") || fs::is_empty(scratch / "two" / "runs"))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(child.id(), SIGKILL);
  }
  const json together = result_of(batchplus(arguments("two", "2")));
  EXPECT_EQ(together["done"], 6);
  EXPECT_EQ(weights_of(scratch / "two"), weights_of(scratch / "one"));

  const json again = result_of(batchplus(arguments("one", "1")));
  EXPECT_EQ(again["done"], 6) << "finished runs are skipped";
  const json status = result_of(batchplus({"sweep", "status", spec, "--out", scratch / "one", "--json"}));
  EXPECT_EQ(status["done"], 6);
}

TEST(Sweep, RunsOneIndexAndSaysWhatFailed) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const ProcessResult one =
      batchplus({"sweep", spec, "--out", scratch / "s", "--index", "4", "--threads", "1"});
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_THAT(one.output, HasSubstr("BP-SVRG, seed 2: done"));
  EXPECT_EQ(weights_of(scratch / "s").size(), 1);
  EXPECT_EQ(batchplus({"sweep", spec, "--out", scratch / "s", "--index", "6"}).exit_code, 2);
  // A config that no run can have is found before anything runs.
  const ProcessResult bad = batchplus({"sweep", spec, "--scale", "bad", "--out", scratch / "b"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.output, HasSubstr("inner batch is larger"));
}

TEST(Sweep, NotesAFailureAndDoesNotTryItForever) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  fs::create_directories(scratch / "empty");
  write_file_atomically(
      scratch / "missing.toml",
      "title = \"t\"\n[base]\ndataset = \"svhn\"\nmodel = \"mlp\"\nepochs = 1\n[scale.paper]\n");
  const std::vector<std::string> arguments = {
      "sweep",      scratch / "missing.toml", "--out",     scratch / "f",
      "--data-dir", scratch / "empty",        "--workers", "1",
      "--quiet"};
  const ProcessResult failed = batchplus(arguments);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.output, HasSubstr("1 failed"));
  EXPECT_THAT(failed.output, HasSubstr("svhn"));
  EXPECT_EQ(batchplus(arguments).exit_code, 1) << "still failed, not run again";
}

}  // namespace
}  // namespace batchplus
