// One run over several machines, as far as one machine can play them: each rank in a network namespace of its
// own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>

#include "support/hosts.h"
#include "support/machine.h"
#include "support/program.h"
#include "support/running.h"
#include "support/scratch.h"

namespace batchplus::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> training(int epochs) {
  return {"train",
          "--dataset",
          "synthetic",
          "--train-limit",
          "32",
          "--test-limit",
          "32",
          "--model",
          "resnet20",
          "--method",
          "bp-svrg",
          "--lr",
          "0.05",
          "--inner-batch",
          "16",
          "--epochs",
          fmt::format("{}", epochs),
          "--threads",
          "1",
          "--group-timeout",
          "20",
          "--checkpoint-every",
          "1",
          "--json",
          "--quiet"};
}

/// A training that takes long enough to be disturbed.
constexpr int kLong = 60;

class HostsTest : public ::testing::Test {
 protected:
  void SetUp() override { machine_has("hosts", Hosts(1).are_ready()); }

  std::vector<std::string> in_run(std::vector<std::string> options) {
    return with_options(std::move(options), {"--out", (scratch_ / "run").string(), "--resume"});
  }
  void start(const Hosts& hosts, int count, const std::vector<std::string>& options) {
    ranks_.clear();
    for (int host = 0; host < count; ++host) ranks_.push_back(hosts.start(host, options, log_));
  }
  /// The exit codes of all ranks.
  std::vector<int> wait_for_all() {
    std::vector<int> codes;
    for (auto& rank : ranks_) codes.push_back(wait_for(*rank));
    return codes;
  }
  /// Until a checkpoint is there that was not there before.
  void wait_for_checkpoint() {
    const auto file = scratch_ / "run" / "checkpoint.pt";
    const auto written = [&] {
      std::error_code none;
      return std::filesystem::last_write_time(file, none);
    };
    const auto before = written();
    ASSERT_TRUE(wait_until([&] { return written() > before || has_ended(); })) << read_file(log_);
  }
  bool has_ended() {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](auto& rank) { return rank->exit_code().has_value(); });
  }
  std::string weights() { return weights_of_run(scratch_ / "run"); }
  static std::string weights_of_one_process(int epochs) {
    static std::map<int, std::string> known;
    std::string& sha = known[epochs];
    if (sha.empty()) sha = result_of(batchplus(training(epochs)))["weights_sha256"];
    return sha;
  }

  Scratch scratch_;
  std::filesystem::path log_ = scratch_ / "log";
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

TEST_F(HostsTest, TwoGiveTheWeightsOfOneEachTime) {
  const Hosts hosts(2);
  const std::string alone = weights_of_one_process(2);
  for (int time = 0; time < 2; ++time) {
    std::filesystem::remove_all(scratch_ / "run");
    start(hosts, 2, in_run(training(2)));
    EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
    EXPECT_EQ(weights(), alone);
  }
}

TEST_F(HostsTest, ThreeGiveTheSameWeightsEachTime) {
  const Hosts hosts(3);
  std::vector<std::string> each;
  for (int time = 0; time < 2; ++time) {
    std::filesystem::remove_all(scratch_ / "run");
    start(hosts, 3, in_run(training(2)));
    EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0, 0})) << read_file(log_);
    each.push_back(weights());
  }
  EXPECT_EQ(each[0], each[1]);
  EXPECT_NE(each[0], "none");
}

TEST_F(HostsTest, ARunWhoseRanksAreKilledTenTimesEndsAsOneThatWasLeftAlone) {
  const Hosts hosts(2);
  std::mt19937 random(1);
  const auto options = in_run(training(kLong));
  int kills = 0;
  for (; kills < 10; ++kills) {
    start(hosts, 2, options);
    wait_for_checkpoint();
    sleep_for(std::uniform_real_distribution<>(0, 0.2)(random));
    if (has_ended()) break;
    const auto victim = static_cast<size_t>(random() % 2);
    ranks_[victim]->send(SIGKILL);
    const auto codes = wait_for_all();
    EXPECT_EQ(codes[1 - victim], 1) << read_file(log_);
    EXPECT_THAT(read_file(log_), HasSubstr(fmt::format("lost rank {} on ", victim)));
  }
  EXPECT_EQ(kills, 10) << "it ended before it was killed often enough";
  start(hosts, 2, options);
  EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
  EXPECT_EQ(weights(), weights_of_one_process(kLong));
}

// Most of the time goes into gradients on their way: 9.6 MB each, of which 8.9 during the backward pass.
TEST_F(HostsTest, FastRanksThatAreKilledWhileGradientsAreOnTheirWayEndAsIfLeftAlone) {
  const Hosts hosts(2);
  for (const int host : {0, 1}) hosts.slow_cable(host, 200);
  const auto options =
      in_run(with_options(training(6), {"--model", "vgg11:width=32", "--reduction", "fast"}));
  start(hosts, 2, options);
  ASSERT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
  const std::string undisturbed = weights();
  std::filesystem::remove_all(scratch_ / "run");

  std::mt19937 random(1);
  for (const size_t victim : {1U, 0U, 1U}) {
    start(hosts, 2, options);
    wait_for_checkpoint();
    sleep_for(std::uniform_real_distribution<>(0, 0.5)(random));
    ASSERT_FALSE(has_ended()) << read_file(log_);
    ranks_[victim]->send(SIGKILL);
    EXPECT_EQ(wait_for_all()[1 - victim], 1) << read_file(log_);
    EXPECT_THAT(read_file(log_), HasSubstr(fmt::format("lost rank {} on ", victim)));
  }
  start(hosts, 2, options);
  EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
  EXPECT_EQ(weights(), undisturbed);
}

TEST_F(HostsTest, ACutCableEndsBothAndTheRunGoesOnAfterwards) {
  const Hosts hosts(2);
  start(hosts, 2, with_options(in_run(training(kLong)), {"--group-timeout", "2"}));
  wait_for_checkpoint();
  hosts.cut_cable(1);
  EXPECT_EQ(wait_for_all(), (std::vector<int>{1, 1})) << read_file(log_);
  EXPECT_THAT(read_file(log_), HasSubstr("lost rank "));
  hosts.mend_cable(1);
  start(hosts, 2, in_run(training(kLong)));
  EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
  EXPECT_EQ(weights(), weights_of_one_process(kLong));
}

TEST_F(HostsTest, ARankThatIsStoppedForLessThanTheTimeoutIsWaitedFor) {
  const Hosts hosts(2);
  start(hosts, 2, in_run(training(kLong)));
  wait_for_checkpoint();
  ranks_[1]->send(SIGSTOP);
  sleep_for(1);
  ranks_[1]->send(SIGCONT);
  EXPECT_EQ(wait_for_all(), (std::vector<int>{0, 0})) << read_file(log_);
  EXPECT_EQ(weights(), weights_of_one_process(kLong));
}

}  // namespace
}  // namespace batchplus::testing
