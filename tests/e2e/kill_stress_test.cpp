// Runs that are killed with SIGKILL, several times, and resumed, end as if nothing had happened.
// script/stress runs many of them.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"
#include "util/clock.h"
#include "util/hash.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::program;
using testing::Scratch;
using testing::timeless_records;
using testing::weights_of_run;
using Options = std::vector<std::string>;

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// Every method of the program, so that a new one joins by itself.
Options method_names() {
  Options names;
  for (const auto& method : testing::result_of(batchplus({"methods", "--json"})))
    names.push_back(method["name"]);
  return names;
}

/// A number that changes with the commit, and once more with edits on top of it: over the commits the runs
/// differ, and those of any commit can be repeated.
int number_of_commit() {
  constexpr size_t kDigits = 4;
  return std::stoi(sha256_hex(batchplus({"--version"}).output).substr(0, kDigits), nullptr, 16);
}

/// Draws runs: every method in turn, each on the one network and then on the other, the rest at random.
class RunMaker {
 public:
  RunMaker(const Options& methods, int number)
      : random_(static_cast<uint64_t>(number)), options_(make(methods, static_cast<size_t>(number))) {}

  const Options& options() const { return options_; }
  double fraction() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int between(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

 private:
  Options make(const Options& methods, size_t number) {
    const bool is_convolutional = (number + number / methods.size()) % 2 == 1;
    Options options = {
        "--method", methods[number % methods.size()], "--threads", "1", "--seed", std::to_string(number)};
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
  bool flip() { return between(0, 1) == 1; }
  std::string pick(const Options& choices) {
    return choices[static_cast<size_t>(between(0, static_cast<int>(choices.size()) - 1))];
  }

  std::mt19937_64 random_;
  Options options_;
};

Options train(const Options& options, const fs::path& out, const Options& more) {
  Options arguments = {"train", "--out", out.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return program(testing::with_options(arguments, more));
}

struct Kills {
  int all = 0;
  /// With something to go on from.
  int after_checkpoint = 0;
};

/// Kills the run as soon as it has begun, once more when it has a checkpoint, and then at random moments, or
/// until it was faster. `duration` is that of the whole run in seconds.
Kills run_and_kill(RunMaker& maker, const fs::path& run, double duration) {
  Kills kills;
  const fs::path log = run.string() + ".log";
  // Between two renames there is none but the one before.
  const auto has_checkpoint = [&] {
    return fs::exists(run / "checkpoint.pt") || fs::exists(run / "checkpoint.previous.pt");
  };
  const auto has_begun = [&] { return fs::exists(run / "config.toml"); };
  const int attempts = 2 + maker.between(1, 3);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    ChildProcess child(train(maker.options(), run, {"--resume"}), log);
    if (attempt < 2) {
      testing::wait_until(
          [&] { return (attempt == 0 ? has_begun() : has_checkpoint()) || child.exit_code(); });
    } else {
      // Any moment will do. Most of these are while it trains: before that libtorch is loaded.
      testing::sleep_for((0.3 + 0.7 * maker.fraction()) * duration);
    }
    child.send(SIGKILL);
    const int exit_code = testing::wait_for(child);
    if (exit_code == 0) break;
    EXPECT_EQ(exit_code, 128 + SIGKILL) << read_file(log);
    ++kills.all;
    kills.after_checkpoint += has_checkpoint() ? 1 : 0;
  }
  return kills;
}

TEST(KillStress, KilledAndResumedRunsEndAsUninterruptedOnes) {
  const Options methods = method_names();
  const int runs = setting("BATCHPLUS_STRESS_RUNS", static_cast<int>(methods.size()));
  const int first = setting("BATCHPLUS_STRESS_FIRST", number_of_commit() * static_cast<int>(methods.size()));
  Kills kills;
  int equal = 0;
  const auto failures = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  for (int number = first; number < first + runs; ++number) {
    const int failures_before = failures();
    RunMaker maker(methods, number);
    SCOPED_TRACE(fmt::format("run {}: {}", number, fmt::join(maker.options(), " ")));
    const Scratch scratch;
    const Stopwatch stopwatch;
    const ProcessResult whole =
        run_process(train(maker.options(), scratch / "whole", {"--checkpoint-every", "never"}), "/");
    ASSERT_EQ(whole.exit_code, 0) << whole.output;
    const Kills of_run = run_and_kill(maker, scratch / "killed", stopwatch.seconds());
    EXPECT_GT(of_run.after_checkpoint, 0) << "it was never killed with something to go on from";
    // A kill may also fall between the last word and the end of the process.
    const bool is_over = json::parse(read_file(scratch / "killed" / "status.json"))["status"] == "done";
    const ProcessResult rest = run_process(train(maker.options(), scratch / "killed", {"--resume"}), "/");
    ASSERT_EQ(rest.exit_code, 0) << rest.output;
    if (!is_over) {
      EXPECT_THAT(rest.output, HasSubstr("resumed after"));
      EXPECT_THAT(rest.output, Not(HasSubstr("resumed after 0 epochs"))) << "begun anew instead of resumed";
    }
    EXPECT_EQ(weights_of_run(scratch / "killed"), weights_of_run(scratch / "whole"));
    EXPECT_EQ(timeless_records(scratch / "killed"), timeless_records(scratch / "whole"));
    EXPECT_EQ(read_file(scratch / "killed" / "weights.pt"), read_file(scratch / "whole" / "weights.pt"));
    for (const auto& entry : fs::directory_iterator(scratch / "killed")) {
      EXPECT_EQ(entry.path().string().find("-tmp."), std::string::npos) << "nothing is left lying about";
    }
    equal += failures() == failures_before ? 1 : 0;
    kills.all += of_run.all;
    kills.after_checkpoint += of_run.after_checkpoint;
  }
  fmt::print(
      "note: {} of {} runs ended with the bits of the uninterrupted run; {} kills, {} of them after a "
      "checkpoint\n"
      "note: the same runs again: BATCHPLUS_STRESS_FIRST={} BATCHPLUS_STRESS_RUNS={} "
      "build/tests/kill_stress_test\n",
      equal, runs, kills.all, kills.after_checkpoint, first, runs);
}

}  // namespace
}  // namespace batchplus
