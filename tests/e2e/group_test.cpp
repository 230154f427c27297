// Several processes train together, as a user starts them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "support/environment.h"
#include "support/machine.h"
#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"

namespace batchplus::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kTraining = {"train",
                                            "--dataset",
                                            "synthetic",
                                            "--train-limit",
                                            "256",
                                            "--test-limit",
                                            "64",
                                            "--model",
                                            "smallcnn:width=8",
                                            "--lr",
                                            "0.05",
                                            "--inner-batch",
                                            "32",
                                            "--outer-batch",
                                            "128",
                                            "--epochs",
                                            "2",
                                            "--threads",
                                            "1",
                                            "--json",
                                            "--quiet"};

/// A training that takes long enough to be disturbed.
const std::vector<std::string> kLong = with_options(kTraining, {"--epochs", "40"});

std::vector<std::string> in(const Scratch& scratch, const std::string& name) {
  return {"--out", (scratch / name).string()};
}

TEST(Group, ProcessesGiveTheWeightsOfOne) {
  const auto alone = result_of(batchplus(kTraining));
  EXPECT_EQ(alone["processes"], 1);
  for (const char* processes : {"2", "4"}) {
    const auto shared = result_of(batchplus(with_options(kTraining, {"--processes", processes})));
    EXPECT_EQ(shared["weights_sha256"], alone["weights_sha256"]) << processes;
    EXPECT_EQ(shared["test_loss"], alone["test_loss"]);
    EXPECT_EQ(shared["train_loss"], alone["train_loss"]);
    EXPECT_EQ(shared["processes"], std::stoi(processes));
  }
}

TEST(Group, FastSumsRepeatThemselves) {
  const auto options = with_options(kTraining, {"--processes", "3"});
  const auto first = result_of(batchplus(options));
  EXPECT_EQ(first["has_portable_bits"], false);
  EXPECT_EQ(result_of(batchplus(options))["weights_sha256"], first["weights_sha256"]);
}

// Over sockets gradients are on their way during the backward pass, in memory they are added up after it.
// With snapshots, whose gradients are computed again.
TEST(Group, FastHasTheSameBitsOverSocketsAndInMemory) {
  if (!machine_has("avx2", result_of(batchplus(kTraining))["has_portable_bits"])) return;
  for (const char* network : {"resnet20", "vgg11", "mlp"}) {
    for (const char* processes : {"2", "3", "4"}) {
      const auto options = with_options(kTraining, {"--model",
                                                    network,
                                                    "--processes",
                                                    processes,
                                                    "--reduction",
                                                    "fast",
                                                    "--method",
                                                    "bp-svrg",
                                                    "--train-limit",
                                                    "24",
                                                    "--test-limit",
                                                    "8",
                                                    "--inner-batch",
                                                    "8",
                                                    "--outer-batch",
                                                    "24",
                                                    "--epochs",
                                                    "1",
                                                    "--snapshot-gradients",
                                                    "recompute"});
      std::vector<std::string> weights;
      for (const char* links : {"memory", "sockets"}) {
        const Environment chosen("BATCHPLUS_LINKS", links);
        weights.push_back(result_of(batchplus(options))["weights_sha256"]);
      }
      EXPECT_EQ(weights[0], weights[1]) << network << " by " << processes;
    }
  }
}

// The bits of a run are those of all its processes, and not of the last one alone.
TEST(Group, BitsThatAreNotPortableStaySoWhoeverGoesOn) {
  if (!machine_has("avx2", result_of(batchplus(kTraining))["has_portable_bits"])) return;
  const Scratch scratch;
  struct Beginning {
    std::string name;
    std::vector<std::string> options;
    const char* cpu;
  };
  for (const auto& [name, options, cpu] :
       {Beginning{"three", {"--processes", "3"}, nullptr},
        Beginning{"fast", {"--processes", "2", "--reduction", "fast"}, nullptr},
        Beginning{"baseline", {}, "baseline"}}) {
    const auto begun = with_options(with_options(kTraining, in(scratch, name)), options);
    {
      const Environment variable("BATCHPLUS_CPU", cpu);
      result_of(batchplus(begun));
    }
    const auto extended = result_of(batchplus(with_options(
        {"train", "--resume", "--extend", "3", "--threads", "1", "--json", "--quiet"}, in(scratch, name))));
    EXPECT_EQ(extended["has_portable_bits"], false) << name;
    EXPECT_EQ(extended["processes"], 1);
    const auto again = result_of(batchplus(with_options(
        {"train", "--resume", "--extend", "4", "--threads", "1", "--json", "--quiet"}, in(scratch, name))));
    EXPECT_EQ(again["has_portable_bits"], false) << name;
    const auto provenance = nlohmann::json::parse(read_file(scratch / name / "provenance.json"));
    EXPECT_EQ(provenance["has_portable_bits"], false);
    EXPECT_EQ(provenance["resumed"][0]["has_portable_bits"], true) << "what that process computed is";
    if (cpu == nullptr) {
      EXPECT_EQ(provenance["processes"], std::stoi(options.at(1)));
      EXPECT_EQ(provenance["reduction"], "fast");
      EXPECT_EQ(provenance["resumed"][0]["processes"], 1);
    }
  }
}

/// What a run recorded after each epoch, without times.
std::vector<nlohmann::json> records_of(const std::filesystem::path& run) {
  std::vector<nlohmann::json> records;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    records.push_back(nlohmann::json::parse(line));
    for (const char* time : {"seconds", "metrics_seconds"}) records.back().erase(time);
  }
  return records;
}

// Two samples are too few for three ranks to share, so that all runs have the same weights.
TEST(Group, ProcessesMeasureTheNumbersOfOne) {
  const Scratch scratch;
  const auto measured = with_options(
      kTraining, {"--train-limit",       "20",    "--test-limit",  "300",     "--inner-batch",     "2",
                  "--outer-batch",       "20",    "--method",      "bp-svrg", "--metrics",         "all",
                  "--metrics-batchnorm", "batch", "--trace-draws", "2",       "--sharpness-draws", "2",
                  "--hessian-products",  "6"});
  const auto records = [&](const std::string& processes) {
    result_of(batchplus(with_options(with_options(measured, {"--processes", processes}),
                                     in(scratch, "processes" + processes))));
    return records_of(scratch / ("processes" + processes));
  };
  const auto alone = records("1");
  ASSERT_EQ(alone.size(), 2U);
  for (const char* quantity : {"mean_squared_gradient_norm", "loss_gap", "hessian_top", "hessian_trace",
                               "sharpness_gaussian", "sharpness_data", "noise_penalty"}) {
    EXPECT_TRUE(alone[0].contains(quantity)) << quantity << " in " << alone[0];
  }
  EXPECT_EQ(records("2"), alone);
  EXPECT_EQ(records("3"), alone);
}

const std::vector<std::string> kNormalized =
    with_options(kTraining, {"--model", "resnet20:width=4", "--train-limit", "128", "--epochs", "1"});

TEST(Group, MomentsOfEachProcessArePartOfTheRun) {
  const Scratch scratch;
  const auto local = with_options(kNormalized, {"--processes", "2", "--batch-norm", "local"});
  const auto synchronized = result_of(batchplus(with_options(kNormalized, {"--processes", "2"})));
  const auto first = result_of(batchplus(with_options(local, in(scratch, "run"))));
  EXPECT_NE(first["weights_sha256"], synchronized["weights_sha256"]);
  EXPECT_EQ(first["has_portable_bits"], false);
  EXPECT_EQ(result_of(batchplus(local))["weights_sha256"], first["weights_sha256"]);
  EXPECT_THAT(read_file(scratch / "run" / "config.toml"), HasSubstr("local_batch_norm = 2\n"));

  const auto go_on = [&](const std::vector<std::string>& options) {
    return batchplus(with_options(
        with_options({"train", "--resume", "--extend", "2", "--json", "--quiet"}, in(scratch, "run")),
        options));
  };
  for (const char* processes : {"1", "4"}) {
    const ProcessResult refused = go_on({"--processes", processes});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.output, HasSubstr("give --processes 2"));
  }
  EXPECT_EQ(go_on({"--processes", "2", "--batch-norm", "synchronized"}).exit_code, 2);
  const auto at_once = result_of(batchplus(with_options(local, {"--epochs", "2"})));
  EXPECT_EQ(result_of(go_on({"--processes", "2"}))["weights_sha256"], at_once["weights_sha256"]);
}

TEST(Group, MpirunGivesTheWeightsOfOneProcess) {
  const auto alone = result_of(batchplus(kTraining));
  std::vector<std::string> command = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"};
  for (const std::string& word : program(kTraining)) command.push_back(word);
  for (const char* word : {"--group", "mpi"}) command.emplace_back(word);
  const auto shared = result_of(run_process(command, "/"));
  EXPECT_EQ(shared["processes"], 2);
  EXPECT_EQ(shared["weights_sha256"], alone["weights_sha256"]);
}

TEST(Group, RefusesWhatCannotBe) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& part) {
    const ProcessResult result = batchplus(with_options(kTraining, options));
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(part));
  };
  refused({"--processes", "3", "--reduction", "exact"}, "2, 4 or 8");
  refused({"--processes", "2", "--reduction", "exakt"}, "exact");
  refused({"--processes", "2", "--kernels", "aten"}, "own kernels");
  refused({"--batch-norm", "local"}, "one process has all samples");
  refused({"--processes", "2", "--batch-norm", "locale"}, "'local'");
  refused({"--processes", "2", "--batch-norm", "local", "--reduction", "exact"}, "do not give the bits");
  refused({"--processes", "2", "--batch-norm", "local", "--model", "mlp"}, "the network has no BatchNorm");
  refused({"--group", "slurm"}, "srun");
  refused({"--restarts", "1"}, "--processes");
}

/// Runs a training's rank with variables of its own.
std::unique_ptr<ChildProcess> start_rank(const std::vector<std::string>& options, int rank, int port,
                                         const std::filesystem::path& log) {
  std::vector<std::string> command = {"env",
                                      "TORCHELASTIC_RUN_ID=test",
                                      "WORLD_SIZE=2",
                                      "LOCAL_WORLD_SIZE=2",
                                      "MASTER_ADDR=127.0.0.1",
                                      fmt::format("RANK={}", rank),
                                      fmt::format("LOCAL_RANK={}", rank),
                                      fmt::format("MASTER_PORT={}", port)};
  for (const std::string& word : program(options)) command.push_back(word);
  return std::make_unique<ChildProcess>(command, log);
}

TEST(Group, AnotherConfigOrOtherDataAmongRanksIsRefusedByName) {
  const Scratch scratch;
  const int port = 23000 + ::getpid() % 5000;
  const auto differs = [&](const std::vector<std::string>& other, const std::string& part) {
    const std::filesystem::path log = scratch / "log";
    std::filesystem::remove(log);
    const auto first = start_rank(kTraining, 0, port, log);
    const auto second = start_rank(with_options(kTraining, other), 1, port, log);
    EXPECT_EQ(wait_for(*first), 2) << read_file(log);
    EXPECT_EQ(wait_for(*second), 2) << read_file(log);
    EXPECT_THAT(read_file(log), HasSubstr(part));
    EXPECT_THAT(read_file(log), HasSubstr("of rank 1 on "));
  };
  differs({"--lr", "0.06"}, "the config of rank 1");
  differs({"--reduction", "fast"}, "the way to add up gradients");
}

/// The processes that a launcher has started, by rank.
std::vector<int> children_of(const ChildProcess& parent) {
  std::vector<int> children;
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent.id()));
  for (int child = 0; file >> child;) children.push_back(child);
  return children;
}

bool has_checkpoint(const std::filesystem::path& run) {
  return std::filesystem::exists(run / "checkpoint.pt");
}

class Disturbed : public ::testing::Test {
 protected:
  /// Starts two processes that save after each epoch, and waits for a checkpoint.
  void start(const std::vector<std::string>& more = {}) {
    auto options = with_options(kLong, in(scratch_, "run"));
    options = with_options(options, {"--processes", "2", "--checkpoint-every", "1"});
    options = with_options(options, more);
    launcher_ = std::make_unique<ChildProcess>(program(options), log_);
    ASSERT_TRUE(wait_until([&] { return has_checkpoint(scratch_ / "run"); })) << read_file(log_);
    ASSERT_EQ(children_of(*launcher_).size(), 2U);
  }
  void send(size_t rank, int signal) { ::kill(children_of(*launcher_).at(rank), signal); }

  /// Goes on to the end, and compares with a run that nobody disturbed.
  void expect_same_end(const std::vector<std::string>& more) {
    const auto ended = result_of(batchplus(with_options(
        with_options({"train", "--resume", "--json", "--quiet", "--threads", "1"}, in(scratch_, "run")),
        more)));
    EXPECT_EQ(ended["weights_sha256"], undisturbed());
  }
  static std::string undisturbed() {
    static const std::string sha = result_of(batchplus(kLong))["weights_sha256"];
    return sha;
  }

  Scratch scratch_;
  std::filesystem::path log_ = scratch_ / "log";
  std::unique_ptr<ChildProcess> launcher_;
};

TEST_F(Disturbed, AKilledRankEndsAllAndTheRunGoesOnAlone) {
  start();
  send(1, SIGKILL);
  EXPECT_EQ(wait_for(*launcher_), 1);
  EXPECT_THAT(read_file(log_), HasSubstr("lost rank 1 on "));
  EXPECT_THAT(read_file(log_), HasSubstr("rank 1 on "));
  expect_same_end({});
}

TEST_F(Disturbed, AKilledFirstRankEndsAllAndTheRunGoesOnWithTwo) {
  start();
  send(0, SIGKILL);
  EXPECT_EQ(wait_for(*launcher_), 1) << "the program failed; a signal ended a rank, and not the program";
  EXPECT_THAT(read_file(log_), HasSubstr("lost rank 0 on "));
  EXPECT_THAT(read_file(log_), HasSubstr("was ended by SIGKILL"));
  expect_same_end({"--processes", "2"});
}

TEST_F(Disturbed, AStoppedRankIsGivenUpAfterTheTimeout) {
  start({"--group-timeout", "2"});
  const int stopped = children_of(*launcher_).at(1);
  send(1, SIGSTOP);
  EXPECT_TRUE(wait_until([&] { return read_file(log_).find("lost rank 1 on ") != std::string::npos; }))
      << read_file(log_);
  ::kill(stopped, SIGKILL);
  EXPECT_EQ(wait_for(*launcher_), 1);
  expect_same_end({"--processes", "2"});
}

TEST_F(Disturbed, ASignalToOneRankStopsAllAtTheSamePlace) {
  start();
  send(1, SIGTERM);
  EXPECT_EQ(wait_for(*launcher_), 128 + SIGTERM);
  EXPECT_THAT(read_file(log_), HasSubstr("interrupted by SIGTERM at rank 1 on "));
  expect_same_end({"--processes", "2"});
}

TEST_F(Disturbed, RestartsGoOnByThemselves) {
  start({"--restarts", "1"});
  send(1, SIGKILL);
  EXPECT_EQ(wait_for(*launcher_), 0) << read_file(log_);
  EXPECT_EQ(weights_of_run(scratch_ / "run"), undisturbed());
}

}  // namespace
}  // namespace batchplus::testing
