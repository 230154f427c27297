// Sweeps over a real Slurm: what is submitted, and what becomes of it when jobs are cancelled, nodes are lost
// and time limits are met.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <csignal>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/machine.h"
#include "support/program.h"
#include "support/slurm_cluster.h"

namespace batchplus::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

/// What a job of a sweep runs: one run.
struct Task {
  int process = 0;
  int64_t index = 0;
  std::string node;
  /// "12_3".
  std::string job;
};

/// What can be read of a file: a process may end while its files are read.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // an error ends it, and throws nothing
  return text.str();
}

/// Processes are seen from outside of the cluster, whose nodes are within this machine. They may end
/// meanwhile: their files are empty then.
std::optional<Task> task_of(const fs::path& process, const fs::path& sweep) {
  Task task;
  const std::string name = process.filename();
  if (std::from_chars(name.data(), name.data() + name.size(), task.process).ec != std::errc()) return {};
  const std::vector<std::string> words = split(text_of(process / "cmdline"), '\0');
  const bool is_of_sweep = std::find(words.begin(), words.end(), sweep.string()) != words.end();
  const auto index = std::find(words.begin(), words.end(), "--index");
  if (!is_of_sweep || index == words.end()) return {};
  task.index = std::stoll(*(index + 1));
  std::map<std::string, std::string> variables;
  for (const std::string& variable : split(text_of(process / "environ"), '\0')) {
    const size_t equals = variable.find('=');
    if (equals != std::string::npos) variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  task.node = variables["SLURMD_NODENAME"];
  task.job = variables["SLURM_ARRAY_JOB_ID"] + "_" + variables["SLURM_ARRAY_TASK_ID"];
  return task;
}

/// A process that is stopped for good, and not about to be.
bool is_stopped(int process) {
  return text_of(fmt::format("/proc/{}/status", process)).find("State:\tT") != std::string::npos;
}

class Slurm : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (SlurmCluster::is_possible()) cluster = new SlurmCluster;
  }
  static void TearDownTestSuite() { delete cluster; }

  void SetUp() override {
    if (!machine_has("slurm", cluster != nullptr)) return;
    ASSERT_TRUE(cluster->wait()) << cluster->log();
    fs::create_directories(folder / "data");
    write_file_atomically(folder / "bob's runs.toml", R"(title = "short"
[base]
dataset = "synthetic"
model = "mlp"
train_limit = 640
test_limit = 100
inner_batch = 32
epochs = 20
checkpoint_every = 1
repeats = 20
)");
  }

  void TearDown() override {
    if (HasFailure() && cluster != nullptr) std::cerr << cluster->log();
  }

  ProcessResult sweep(const std::vector<std::string>& options) const {
    std::vector<std::string> command = {"sweep", "bob's runs.toml"};
    command.insert(command.end(), options.begin(), options.end());
    return cluster->run(program(command), folder);
  }
  /// Where everything is named by what comes from the working directory.
  json submit(const std::vector<std::string>& options) const {
    return result_of(sweep(with_options(
        {"--out", "the sweep", "--data-dir", "data", "--slurm", "--threads", "1", "--mem", "600M", "--json"},
        options)));
  }

  std::vector<Task> tasks() const {
    std::vector<Task> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      if (const auto task = task_of(entry.path(), out)) found.push_back(*task);
    }
    return found;
  }
  fs::path run_of(const Task& task) const {
    const json file = json::parse(read_file(out / "sweep.json"));
    return out / "runs" / file["runs"][static_cast<size_t>(task.index)]["id"].get<std::string>();
  }
  std::string status_of(const Task& task) const {
    return json::parse(read_file(run_of(task) / "status.json")).value("status", "");
  }
  std::string log_of(const Task& task) const {
    return read_file(out / "logs" / ("slurm-" + task.job + ".log"));
  }

  /// Stops the process of a run in its midst, so that it is not done before what is to come has come.
  Task hold_run_on(const std::string& node) const {
    Task held;
    EXPECT_TRUE(wait_until([&] {
      for (const Task& task : tasks()) {
        if (task.node != node || !fs::exists(run_of(task) / "checkpoint.pt")) continue;
        ::kill(task.process, SIGSTOP);
        EXPECT_TRUE(wait_until(
            [&] { return is_stopped(task.process) || !fs::exists(fmt::format("/proc/{}", task.process)); }));
        held = task;
        if (is_stopped(task.process) && status_of(task) == "running") return true;
        ::kill(task.process, SIGCONT);
      }
      return false;
    })) << "no run on "
        << node;
    return held;
  }

  /// The states of all jobs that match, one a line.
  std::string states(const std::string& jobs) const {
    return cluster->run({"squeue", "--noheader", "--states=all", "--format=%T", "--jobs=" + jobs}).output;
  }
  std::string describe(const std::string& job) const {
    return cluster->run({"scontrol", "show", "job", job}).output;
  }
  void cancel(const std::string& job) const { EXPECT_EQ(cluster->run({"scancel", job}).exit_code, 0); }

  /// The weights of a run that nobody disturbed.
  std::string expected_weights(const Task& task) const {
    const ProcessResult alone = sweep({"--out", "alone", "--index", std::to_string(task.index), "--quiet"});
    EXPECT_EQ(alone.exit_code, 0) << alone.output;
    return weights_of_run(folder / "alone" / "runs" / run_of(task).filename());
  }

  static SlurmCluster* cluster;
  const Scratch scratch;
  /// Slurm replaces %a, and a shell takes the rest apart.
  const fs::path folder = scratch / "bob's \"5%a\" of $HOME";
  const fs::path out = folder / "the sweep";
};

SlurmCluster* Slurm::cluster = nullptr;

TEST_F(Slurm, TwoNodesGiveTheWeightsOfOneProcess) {
  const std::vector<std::string> training =
      program({"train", "--dataset", "synthetic", "--train-limit", "256", "--test-limit", "64", "--model",
               "smallcnn:width=8", "--inner-batch", "32", "--outer-batch", "128", "--epochs", "2",
               "--threads", "1", "--json", "--quiet"});
  std::vector<std::string> shared = {"srun", "--nodes=2", "--ntasks=2", "--mem=600M"};
  shared.insert(shared.end(), training.begin(), training.end());
  shared.insert(shared.end(), {"--group", "slurm"});
  const json two = result_of(cluster->run(shared));
  EXPECT_EQ(two["processes"], 2);
  EXPECT_EQ(two["weights_sha256"], result_of(run_process(training, "/"))["weights_sha256"]);
}

TEST_F(Slurm, JobsGetWhatWasAskedFor) {
  const json held = submit({"--time", "3:00:00", "--mem", "700M", "--partition", "long", "--threads", "2",
                            "--sbatch=--hold", "--sbatch=--comment=it's \"mine\"", "--set", "repeats=1"});
  EXPECT_EQ(held["submitted"], 1);
  const std::string job = held["jobs"][0];
  const std::string description = describe(job);
  for (const char* part :
       {"TimeLimit=03:00:00", "MinMemoryNode=700M", "Partition=long", "CPUs/Task=2", "Comment=it's \"mine\"",
        "JobName=bob's runs", "Requeue=1", "Reason=JobHeldUser"}) {
    EXPECT_THAT(description, HasSubstr(part));
  }
  cancel(job);
  const ProcessResult refused = sweep({"--slurm", "--out", "the sweep", "--partition", "nowhere"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("invalid partition specified: nowhere"));
  EXPECT_THAT(refused.output, HasSubstr("sbatch --array=0-7 "));
}

TEST_F(Slurm, ACancelledRunIsSavedAndNotQueuedAgain) {
  const std::string job = submit({"--set", "repeats=1", "--set", "epochs=100000"})["jobs"][0];
  const Task task = hold_run_on("node1");
  ::kill(task.process, SIGCONT);
  cancel(job);
  ASSERT_TRUE(wait_until([&] { return states(job) == "CANCELLED\n"; }, 60, 0.2)) << states(job);
  EXPECT_EQ(status_of(task), "interrupted");
  EXPECT_THAT(log_of(task), HasSubstr("SIGTERM: job " + task.job + " is not queued again"));
}

TEST_F(Slurm, TwentyRunsAreDoneThoughANodeIsLostAndATimeLimitIsMet) {
  // Slurm looks at time limits twice a minute: the signal comes 10 to 40 seconds after a job has started.
  const json submission = submit({"--time", "2", "--sbatch=--signal=B:TERM@80"});
  EXPECT_EQ(submission["submitted"], 20);
  ASSERT_EQ(submission["jobs"].size(), 3U) << "an array of this Slurm has at most 8 tasks";
  EXPECT_THAT(read_file(out / "sweep.slurm"), HasSubstr(R"(s "5%a" of $HOME/data')"))
      << "as an absolute path";
  const Task lost = hold_run_on("node2");
  const Task limited = hold_run_on("node1");
  cluster->kill("node2");
  // The signal lets a stopped process go on, too.
  ASSERT_TRUE(wait_until([&] { return !is_stopped(limited.process); }, 120, 0.1));

  const auto status = [&] { return sweep({"status", "--out", "the sweep", "--json"}); };
  ASSERT_TRUE(wait_until([&] { return status().exit_code == 0; }, 300, 1)) << status().output;
  EXPECT_EQ(result_of(status())["done"], 20);
  EXPECT_THAT(log_of(limited), HasSubstr("SIGTERM: job " + limited.job + " is queued again"));
  for (const Task& task : {lost, limited}) {
    EXPECT_THAT(describe(task.job), HasSubstr("Restarts=1 "));
    const json provenance = json::parse(read_file(run_of(task) / "provenance.json"));
    EXPECT_TRUE(provenance.contains("resumed")) << "it went on from where it was";
    EXPECT_EQ(weights_of_run(run_of(task)), expected_weights(task));
  }
  for (const json& job : submission["jobs"]) {
    ASSERT_TRUE(wait_until([&] { return states(job).find("COMPLETING") == std::string::npos; }, 60, 0.2));
    EXPECT_THAT(split(states(job), '\n'), ::testing::Each(::testing::AnyOf("COMPLETED", "")));
  }
  EXPECT_EQ(submit({})["submitted"], 0) << "every run has a result";
}

}  // namespace
}  // namespace batchplus::testing
