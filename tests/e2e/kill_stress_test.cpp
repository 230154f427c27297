// Runs that are killed with SIGKILL at random moments, several times, and resumed, end as if nothing had
// happened. script/stress runs many of them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"
#include "util/clock.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using testing::program;
using testing::Scratch;
using testing::timeless_records;
using testing::weights_of_run;
using Options = std::vector<std::string>;

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// Draws runs: every method in turn, the rest at random.
class RunMaker {
 public:
  explicit RunMaker(int seed) : random_(static_cast<uint64_t>(seed)) {}

  Options make(int number) {
    static const Options kMethods = {"sgd",    "momentum", "nag",          "svrg",       "psvrg",
                                     "b-svrg", "bp-svrg",  "modified-sgd", "alpha-svrg", "sam"};
    const bool is_convolutional = number % 2 == 1;
    Options options = {"--method",  kMethods[static_cast<size_t>(number / 2) % kMethods.size()],
                       "--threads", "1",
                       "--seed",    std::to_string(number)};
    const auto add = [&](const Options& more) { options.insert(options.end(), more.begin(), more.end()); };
    if (is_convolutional) {
      // BatchNorm is part of the network.
      add({"--model", "smallcnn", "--dropout", "0.3", "--augment", "standard", "--train-limit", "256",
           "--epochs", "3"});
    } else {
      add({"--model", "mlp", "--augment", "standard", "--train-limit", "640", "--epochs", "12"});
    }
    add({"--test-limit", "100", "--inner-batch", "32", "--lr", "0.02", "--weight-decay", "5e-4", "--schedule",
         "cosine", "--validation", "50"});
    add({"--checkpoint-every", pick({"0.01", "0.3", "1", "0.1s", "1,0.3s"})});
    add({"--sampling", pick({"epoch", "epoch", "independent"})});
    if (flip()) add({"--warmup-epochs", "1", "--warmup-method", "nag"});
    if (flip()) add({"--metrics", "control-variate", "--eval-every", "2"});
    return options;
  }
  double fraction() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int between(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

 private:
  bool flip() { return between(0, 1) == 1; }
  std::string pick(const Options& choices) {
    return choices[static_cast<size_t>(between(0, static_cast<int>(choices.size()) - 1))];
  }
  std::mt19937_64 random_;
};

Options train(const Options& options, const fs::path& out, const Options& more) {
  Options arguments = {"train", "--quiet", "--out", out.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return program(arguments);
}

TEST(KillStress, KilledAndResumedRunsEndAsUninterruptedOnes) {
  const int runs = setting("BATCHPLUS_STRESS_RUNS", 4);
  const int first = setting("BATCHPLUS_STRESS_FIRST", 0);
  int kills = 0;
  int resumable = 0;
  int equal = 0;
  for (int number = first; number < first + runs; ++number) {
    RunMaker maker(number);
    const Options options = maker.make(number);
    SCOPED_TRACE(fmt::format("run {}: {}", number, fmt::join(options, " ")));
    const Scratch scratch;
    const Stopwatch stopwatch;
    const ProcessResult whole =
        run_process(train(options, scratch / "whole", {"--checkpoint-every", "never"}), "/");
    ASSERT_EQ(whole.exit_code, 0) << whole.output;
    const double duration = stopwatch.seconds();

    const int attempts = maker.between(3, 6);
    for (int attempt = 0; attempt < attempts; ++attempt) {
      ChildProcess child(train(options, scratch / "killed", {"--resume"}), scratch / "log");
      // Most of them while it trains: before that libtorch is loaded.
      testing::sleep_for((0.3 + 0.7 * maker.fraction()) * duration);
      child.send(SIGKILL);
      const int exit_code = testing::wait_for(child);
      if (exit_code == 0) break;  // it was faster
      ASSERT_EQ(exit_code, 128 + SIGKILL) << read_file(scratch / "log");
      ++kills;
      resumable += fs::exists(scratch / "killed" / "checkpoint.pt") ? 1 : 0;
    }
    const ProcessResult rest = run_process(train(options, scratch / "killed", {"--resume"}), "/");
    ASSERT_EQ(rest.exit_code, 0) << rest.output;
    EXPECT_EQ(weights_of_run(scratch / "killed"), weights_of_run(scratch / "whole"));
    EXPECT_EQ(timeless_records(scratch / "killed"), timeless_records(scratch / "whole"));
    EXPECT_EQ(read_file(scratch / "killed" / "weights.pt"), read_file(scratch / "whole" / "weights.pt"));
    for (const auto& entry : fs::directory_iterator(scratch / "killed")) {
      EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << "nothing is left lying about";
    }
    equal += HasFailure() ? 0 : 1;
  }
  fmt::print(
      "{} of {} runs ended with the bits of the uninterrupted run; {} kills, {} of them after a checkpoint\n",
      equal, runs, kills, resumable);
}

}  // namespace
}  // namespace batchplus
