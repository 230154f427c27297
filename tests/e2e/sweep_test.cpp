// Sweeps as a user runs them: real workers, one of them killed, files shared between them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/image_files.h"
#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using testing::program;
using testing::result_of;
using testing::Scratch;
using testing::wait_for;
using testing::wait_until;
using testing::with_options;

/// Six short runs.
std::string write_spec(const Scratch& scratch) {
  write_file_atomically(scratch / "short.toml", R"(title = "short"
[base]
dataset = "synthetic"
model = "mlp"
train_limit = 640
test_limit = 100
inner_batch = 32
epochs = 6
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

/// Which file the results of a run are in: another one when the run was computed again.
std::map<std::string, fs::file_time_type> result_times(const fs::path& sweep) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::directory_iterator(sweep / "runs"))
    times[entry.path().filename()] = fs::last_write_time(entry.path() / "status.json");
  return times;
}

/// The run that has a checkpoint, if one has.
std::optional<fs::path> run_with_checkpoint(const fs::path& sweep) {
  if (!fs::exists(sweep / "runs")) return std::nullopt;
  for (const auto& entry : fs::directory_iterator(sweep / "runs")) {
    if (fs::exists(entry.path() / "checkpoint.pt")) return entry.path();
  }
  return std::nullopt;
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
    EXPECT_EQ(run["samples"], run["method"] == "sgd" ? 6 * 640 : 6 * 960);
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

  // A worker by itself, killed in the midst of its first run.
  ChildProcess worker(
      program({"sweep", spec, "--out", scratch / "two", "--worker-cores", "0", "--threads", "1", "--quiet"}),
      scratch / "worker.log");
  ASSERT_TRUE(wait_until([&] { return run_with_checkpoint(scratch / "two") || worker.exit_code(); }));
  worker.send(SIGKILL);
  ASSERT_EQ(wait_for(worker), 128 + SIGKILL) << read_file(scratch / "worker.log");
  const fs::path killed = run_with_checkpoint(scratch / "two").value();
  EXPECT_EQ(json::parse(read_file(killed / "status.json"))["status"], "running");
  const json together = result_of(batchplus(arguments("two", "2")));
  EXPECT_EQ(together["done"], 6);
  EXPECT_TRUE(json::parse(read_file(killed / "provenance.json")).contains("resumed"));
  EXPECT_EQ(weights_of(scratch / "two"), weights_of(scratch / "one"));

  const auto times = result_times(scratch / "one");
  const json again = result_of(batchplus(arguments("one", "1")));
  EXPECT_EQ(again["done"], 6);
  EXPECT_EQ(result_times(scratch / "one"), times) << "finished runs are left alone";
  const json status = result_of(batchplus({"sweep", "status", spec, "--out", scratch / "one", "--json"}));
  EXPECT_EQ(status["done"], 6);
}

// An id says what the run is. Two directories change places, a third is from another spec; who is asked says
// so.
TEST(Sweep, NoticesADirectoryThatHoldsAnotherRun) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const std::vector<std::string> arguments = {"sweep",    spec,        "--out", scratch / "s", "--set",
                                              "epochs=1", "--threads", "1",     "--quiet",     "--json"};
  EXPECT_EQ(result_of(batchplus(arguments))["done"], 6);
  std::map<std::string, fs::path> runs;
  const json description = json::parse(read_file(scratch / "s" / "sweep.json"));
  for (const json& run : description["runs"]) {
    runs[run["cell"]["method"].get<std::string>() + run["seed"].dump()] =
        scratch / "s" / "runs" / run["id"].get<std::string>();
  }
  const std::vector<std::string> report = {"report", scratch / "s", "--no-figures", "--quiet", "--json"};
  EXPECT_TRUE(result_of(batchplus(report))["notes"].empty());
  EXPECT_EQ(batchplus({"check", scratch / "s"}).exit_code, 0);

  const ProcessResult extended =
      batchplus({"train", "--resume", "--out", runs["SGD3"], "--extend", "2", "--quiet"});
  EXPECT_EQ(extended.exit_code, 2) << extended.output;
  EXPECT_THAT(extended.output, HasSubstr("it is one of a sweep"));
  // Elsewhere it may be extended; it is not the sweep's run then.
  fs::rename(runs["SGD3"], scratch / "aside");
  result_of(
      batchplus({"train", "--resume", "--out", scratch / "aside", "--extend", "2", "--quiet", "--json"}));
  fs::rename(scratch / "aside", runs["SGD3"]);
  fs::rename(runs["SGD1"], scratch / "aside");
  fs::rename(runs["BP-SVRG1"], runs["SGD1"]);
  fs::rename(scratch / "aside", runs["BP-SVRG1"]);

  const json left = result_of(batchplus(report));
  ASSERT_EQ(left["notes"].size(), 3U);
  EXPECT_THAT(left["notes"].dump(), HasSubstr("epochs is 2, not 1"));
  EXPECT_THAT(left["notes"].dump(), HasSubstr("method is bp-svrg, not sgd"));
  for (const json& cell : left["cells"])
    EXPECT_EQ(cell["done"], cell["cell"]["method"] == "SGD" ? 1 : 2) << "the others still count";
  for (const std::vector<std::string>& command :
       {arguments, {"sweep", "status", spec, "--out", scratch / "s", "--set", "epochs=1"}}) {
    const ProcessResult process = batchplus(command);
    EXPECT_EQ(process.exit_code, 1);
    EXPECT_THAT(process.output, HasSubstr("misplaced: SGD, seed 3: " + runs["SGD3"].string()));
    EXPECT_THAT(process.output, HasSubstr("holds another run: epochs is 2, not 1"));
  }
  const ProcessResult one = batchplus(with_options(arguments, {"--index", "2"}));
  EXPECT_EQ(one.exit_code, 1) << "a job array's task is no better off";
  EXPECT_THAT(one.output, HasSubstr("misplaced: SGD, seed 3"));
  const ProcessResult checked = batchplus({"check", scratch / "s" / "runs"});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.output,
              HasSubstr(runs["SGD3"].string() + ": not the run that the sweep has here: epochs"));
}

// The runs stay those of the sweep, and the report says that the spec asks for others by now.
TEST(Sweep, ReportNoticesThatTheSpecHasChanged) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  result_of(batchplus(
      {"sweep", spec, "--out", scratch / "s", "--set", "epochs=1", "--threads", "1", "--quiet", "--json"}));
  const std::vector<std::string> report = {"report",       spec,      "--runs", scratch / "s",
                                           "--no-figures", "--quiet", "--json"};
  EXPECT_TRUE(result_of(batchplus(report))["notes"].empty());
  std::string text = read_file(spec);
  write_file_atomically(spec, text + "\n[report]\ntables = [\"test_loss\"]\n");
  EXPECT_THAT(result_of(batchplus(report))["notes"].dump(),
              HasSubstr("[report] of the spec has changed since the sweep"));
  text.replace(text.find("\"sgd\""), 5, "\"nag\"");
  write_file_atomically(spec, text);
  EXPECT_THAT(result_of(batchplus(report))["notes"].dump(),
              HasSubstr("the spec has changed since the sweep"));
  write_file_atomically(scratch / "s" / "sweep.json", "{");
  const ProcessResult checked = batchplus({"check", scratch.path()});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.output, HasSubstr("sweep.json: not valid JSON"));
}

TEST(Sweep, RunsOneIndexAndSaysWhatFailed) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const ProcessResult one =
      batchplus({"sweep", spec, "--out", scratch / "s", "--index", "4", "--threads", "1"});
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_THAT(one.output, HasSubstr("BP-SVRG, seed 2: done"));
  EXPECT_EQ(weights_of(scratch / "s").size(), 1);
  // Done now or before, it is one JSON object.
  for (const char* index : {"4", "4", "3"}) {
    const json run = result_of(batchplus(
        {"sweep", spec, "--out", scratch / "s", "--index", index, "--threads", "1", "--quiet", "--json"}));
    EXPECT_EQ(run["status"], "done");
    EXPECT_EQ(run["index"], std::stoi(index));
    const fs::path directory = scratch / "s" / "runs" / run["id"].get<std::string>();
    EXPECT_EQ(run["directory"], directory.string());
    EXPECT_EQ(run["weights_sha256"], json::parse(read_file(directory / "status.json"))["weights_sha256"]);
  }
  EXPECT_EQ(batchplus({"sweep", spec, "--out", scratch / "s", "--index", "6"}).exit_code, 2);
  // Cells would be called what they are not.
  const ProcessResult set = batchplus({"sweep", spec, "--set", "method=nag", "--dry-run"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.output, HasSubstr("where: --set method"));
  // What the report is to show is known before hours of runs.
  append_bytes(spec, "[report]\ntables = [\"test_acuracy\"]\n");
  const ProcessResult table = batchplus({"sweep", spec, "--dry-run", "--no-calibration"});
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_THAT(table.output, HasSubstr("short.toml, [report] tables"));
  write_spec(scratch);
  append_bytes(spec, "[report]\nat_loss = [0.5]\n");
  const ProcessResult levels = batchplus({"sweep", spec, "--dry-run", "--no-calibration"});
  EXPECT_EQ(levels.exit_code, 2);
  EXPECT_THAT(levels.output, HasSubstr("at_loss needs the evaluated training loss"));
  write_spec(scratch);
  // A config that no run can have is found before anything runs.
  const ProcessResult bad = batchplus({"sweep", spec, "--scale", "bad", "--out", scratch / "b"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.output, HasSubstr("inner batch is larger"));
}

TEST(Sweep, WithoutSlurmWritesTheScriptAndSaysWhatToType) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const testing::Environment no_programs("PATH", "/no/such/folder");
  const ProcessResult process = batchplus({"sweep", spec, "--out", scratch / "s", "--slurm", "--time", "60"});
  EXPECT_EQ(process.exit_code, 1);
  EXPECT_THAT(process.output, HasSubstr("no Slurm that answers"));
  const std::string script = scratch / "s" / "sweep.slurm";
  EXPECT_THAT(process.output, HasSubstr("sbatch --array=0-5 '" + script + "' 0"));
  EXPECT_THAT(read_file(script), HasSubstr("#SBATCH --time='60'\n"));
  for (const char* wrong : {"--time=60", "--requeue", "--sbatch=--hold"})
    EXPECT_EQ(batchplus({"sweep", spec, wrong}).exit_code, 2) << wrong << " means nothing here";
}

/// The number of a sweep's only worker, other than `before`; 0 when it has none.
int worker_of(const ChildProcess& sweep, int before) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", sweep.id()));
  int child = 0;
  while (children >> child) {
    if (child != before) return child;
  }
  return 0;
}

// As when memory runs out.
TEST(Sweep, SaysWhichSignalEndsWorkersAndGivesUp) {
  const Scratch scratch;
  const std::vector<std::string> where = {write_spec(scratch), "--out", scratch / "s", "--set",
                                          "epochs=2000"};
  ChildProcess sweep(program(with_options({"sweep", "--workers", "1", "--quiet", "--json"}, where)),
                     scratch / "log");
  int killed = 0;
  for (int time = 0; time < 3; ++time) {
    int worker = 0;
    ASSERT_TRUE(wait_until([&] { return (worker = worker_of(sweep, killed)) != 0; }));
    // By then its run has begun.
    ASSERT_TRUE(wait_until([&] { return !fs::is_empty(scratch / "s" / "progress"); }));
    ::kill(worker, SIGKILL);
    killed = worker;
  }
  EXPECT_EQ(wait_for(sweep), 1);
  const std::string log = read_file(scratch / "log");
  EXPECT_THAT(log, HasSubstr("worker 0 was ended by SIGKILL; started again"));
  EXPECT_THAT(log, HasSubstr("worker 0 was ended by SIGKILL; given up after 3 times"));
  EXPECT_THAT(log, HasSubstr("\"running\":0,\"interrupted\":1,\"waiting\":5"));
  const ProcessResult status = batchplus(with_options({"sweep", "status"}, where));
  EXPECT_THAT(status.output, HasSubstr("1 interrupted, 5 waiting"));
}

TEST(Sweep, RefusesWhatChangesNothingAndReplacesNothingOfSomebodysOwn) {
  const Scratch scratch;
  const std::vector<std::string> sweep = {"sweep", write_spec(scratch), "--out", scratch / "s"};
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--index", "0", "--workers", "2"},
                                               {"--dry-run", "--workers", "2"},
                                               {"--dry-run", "--index", "0"}}) {
    const ProcessResult refused = batchplus(with_options(sweep, more));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.output, HasSubstr("the option changes nothing"));
  }
  make_directories(scratch / "s");
  write_file_atomically(scratch / "s" / "sweep.json", "{\"mine\": 1}");
  const ProcessResult foreign = batchplus(sweep);
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.output, HasSubstr("not the description of a sweep"));
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), "{\"mine\": 1}");
  // Runs beside it that are none of this sweep make it no sweep's.
  make_directories(scratch / "s" / "runs" / "mine");
  EXPECT_EQ(batchplus(sweep).exit_code, 2);
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), "{\"mine\": 1}");
}

TEST(Sweep, RefusesSeedsBeyondTheLargest) {
  const Scratch scratch;
  const ProcessResult refused = batchplus({"sweep", write_spec(scratch), "--out", scratch / "s", "--set",
                                           "seed=9223372036854775807", "--set", "repeats=2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("there are no seeds beyond"));
}

// The report of the directory would be that of the second alone.
TEST(Sweep, OfAnotherSpecNeedsADirectoryOfItsOwn) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  fs::copy_file(spec, scratch / "other.toml");
  const auto sweep = [&](const std::string& file, const std::string& setting = "epochs=6") {
    return batchplus({"sweep", file, "--out", scratch / "s", "--index", "0", "--quiet", "--set", setting});
  };
  EXPECT_EQ(sweep(spec).exit_code, 0);
  const std::string before = read_file(scratch / "s" / "sweep.json");
  const ProcessResult refused = sweep(scratch / "other.toml", "epochs=5");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("the sweep of another spec"));
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), before);
  write_file_atomically(scratch / "s" / "sweep.json", "{ cut");
  EXPECT_EQ(sweep(spec).exit_code, 0) << "a damaged one is made good";
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), before);

  // A spec that asks for some of these runs, as figures do that are drawn of a table's.
  EXPECT_EQ(sweep(scratch / "other.toml", "repeats=2").exit_code, 0);
  EXPECT_EQ(json::parse(read_file(scratch / "s" / "sweep.json"))["name"], "other");
  EXPECT_EQ(sweep(spec).exit_code, 0) << "and the other way round";
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), before);
}

// As of two folders, or of one spec before and after: the directory is the same unless another one is named.
TEST(Sweep, OfANamesakeNeedsADirectoryOfItsOwn) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const auto sweep = [&](const std::string& setting) {
    return batchplus({"sweep", spec, "--out", scratch / "s", "--index", "0", "--quiet", "--set", setting});
  };
  EXPECT_EQ(sweep("epochs=1").exit_code, 0);
  const std::string before = read_file(scratch / "s" / "sweep.json");
  const ProcessResult refused = sweep("epochs=2");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("another sweep of this name, which has none of these runs"));
  EXPECT_THAT(refused.output, HasSubstr("name another directory by --out"));
  EXPECT_EQ(read_file(scratch / "s" / "sweep.json"), before);
}

TEST(Sweep, AndARunHaveDirectoriesOfTheirOwn) {
  const Scratch scratch;
  const std::string spec = write_spec(scratch);
  const std::vector<std::string> run = {"--out", scratch / "s", "--quiet"};
  const std::vector<std::string> train = with_options(
      {"train", "--model", "mlp", "--train-limit", "64", "--inner-batch", "32", "--epochs", "1"}, run);
  const std::vector<std::string> sweep =
      with_options({"sweep", spec, "--index", "0", "--set", "epochs=1"}, run);
  ASSERT_EQ(batchplus(train).exit_code, 0);
  const ProcessResult beside_run = batchplus(sweep);
  EXPECT_EQ(beside_run.exit_code, 2);
  EXPECT_THAT(beside_run.output, HasSubstr("the directory holds a run"));

  fs::rename(scratch / "s", scratch / "run");
  ASSERT_EQ(batchplus(sweep).exit_code, 0);
  const ProcessResult beside_sweep = batchplus(train);
  EXPECT_EQ(beside_sweep.exit_code, 2);
  EXPECT_THAT(beside_sweep.output, HasSubstr("the directory is that of a sweep"));

  // One that is there all the same hides none of the sweep's runs from a check.
  for (const auto& entry : fs::directory_iterator(scratch / "run"))
    fs::copy(entry.path(), scratch / "s" / entry.path().filename(), fs::copy_options::overwrite_existing);
  const auto checked = json::parse(batchplus({"check", scratch / "s", "--json"}).output);
  std::map<std::string, int> statuses;
  for (const json& row : checked) ++statuses[row["status"]];
  EXPECT_EQ(statuses, (std::map<std::string, int>{{"sweep", 1}, {"done", 2}}));
}

TEST(Sweep, ReplacesNoScriptForSlurmButItsOwn) {
  const Scratch scratch;
  const testing::Environment no_programs("PATH", "/no/such/folder");
  const auto submit = [&] {
    return batchplus({"sweep", write_spec(scratch), "--out", scratch / "s", "--slurm"});
  };
  make_directories(scratch / "s");
  for (const char* mine : {"#!/bin/sh\n#SBATCH --time=60\nexec ./mine\n", ""}) {
    write_file_atomically(scratch / "s" / "sweep.slurm", mine);
    const ProcessResult refused = submit();
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("not the script of a sweep"));
    EXPECT_EQ(read_file(scratch / "s" / "sweep.slurm"), mine);
    EXPECT_FALSE(fs::exists(scratch / "s" / "sweep.json")) << "nothing was begun";
  }
  fs::remove(scratch / "s" / "sweep.slurm");
  for (int time = 0; time < 2; ++time) EXPECT_THAT(submit().output, HasSubstr("the script was written"));
}

TEST(Sweep, NamesALockThatIsSomebodysOwnAndGoesOnWithTheOtherRuns) {
  const Scratch scratch;
  const std::vector<std::string> spec = {"sweep", write_spec(scratch), "--out",  scratch / "s",
                                         "--set", "epochs=1",          "--quiet"};
  const auto sweep = with_options(spec, {"--workers", "1"});
  EXPECT_EQ(batchplus(with_options(spec, {"--index", "0"})).exit_code, 0);
  const fs::path lock = fs::directory_iterator(scratch / "s" / "locks")->path();
  fs::remove_all(scratch / "s" / "runs");
  write_file_atomically(lock, "my notes\n");
  const ProcessResult process = batchplus(sweep);
  EXPECT_EQ(process.exit_code, 1);
  EXPECT_THAT(process.output, HasSubstr("5 done, 1 failed"));
  EXPECT_THAT(process.output, HasSubstr("not a lock, but somebody's own"));
  EXPECT_THAT(process.output, HasSubstr(lock.string()));
  EXPECT_THAT(process.output, ::testing::Not(HasSubstr("worker 0 ended")));
  EXPECT_EQ(read_file(lock), "my notes\n");
  fs::remove(lock);
  EXPECT_EQ(batchplus(with_options(sweep, {"--retry-failed"})).exit_code, 0);
}

TEST(Sweep, MakesLostRecordsGood) {
  const Scratch scratch;
  const std::vector<std::string> sweep = {"sweep",    write_spec(scratch), "--out", scratch / "s", "--set",
                                          "epochs=1", "--threads",         "1",     "--quiet",     "--json"};
  EXPECT_EQ(result_of(batchplus(sweep))["done"], 6);
  const fs::path records = fs::directory_iterator(scratch / "s" / "runs")->path() / "metrics.jsonl";
  const std::string before = read_file(records);
  fs::remove(records);
  EXPECT_EQ(result_of(batchplus(sweep))["done"], 6);
  EXPECT_EQ(read_file(records), before);
  write_file_atomically(records, before.substr(0, before.size() / 2));
  EXPECT_EQ(result_of(batchplus(sweep))["done"], 6);
  EXPECT_EQ(read_file(records), before) << "cut short";
  write_file_atomically(records, "");
  auto status = with_options({"sweep", "status"}, {sweep.begin() + 1, sweep.begin() + 6});
  status.emplace_back("--json");
  const json emptied = json::parse(batchplus(status).output);
  EXPECT_EQ(emptied["done"], 5);
  EXPECT_EQ(emptied["interrupted"], 1);
  EXPECT_EQ(result_of(batchplus(sweep))["done"], 6);
  EXPECT_EQ(read_file(records), before);
}

TEST(Sweep, NotesAFailureAndTriesItAgainOnlyWhenAsked) {
  const Scratch scratch;
  fs::create_directories(scratch / "data");
  write_file_atomically(scratch / "missing.toml",
                        "title = \"t\"\n[base]\ndataset = \"cifar10\"\nmodel = \"mlp\"\ninner_batch = 10\n"
                        "epochs = 1\n[scale.paper]\n");
  std::vector<std::string> arguments = {"sweep",      scratch / "missing.toml", "--out",     scratch / "f",
                                        "--data-dir", scratch / "data",         "--workers", "1",
                                        "--quiet"};
  const ProcessResult failed = batchplus(arguments);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.output, HasSubstr("1 failed"));
  EXPECT_THAT(failed.output, HasSubstr("cifar10"));
  // With the data it would go well.
  testing::write_cifar10(scratch / "data" / "cifar-10-batches-bin", 10);
  EXPECT_EQ(batchplus(arguments).exit_code, 1) << "still failed, not run again";
  arguments.emplace_back("--retry-failed");
  const ProcessResult retried = batchplus(arguments);
  EXPECT_EQ(retried.exit_code, 0) << retried.output;
}

}  // namespace
}  // namespace batchplus
