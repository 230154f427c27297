// The promise that several processes give the bits of one: the runs of tests/fixtures/golden_weights.json by
// groups of real processes.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group/c10d_group.h"
#include "kernels/processor.h"
#include "support/golden_runs.h"
#include "support/threads.h"
#include "util/stop_signal.h"

namespace batchplus {
namespace {

using testing::GoldenRun;

/// Runs what `runs` holds in each of so many processes and compares rank by rank. The exit codes are the
/// numbers of runs that ended with other weights.
std::vector<int> failures_of(const std::vector<GoldenRun>& runs, int processes) {
  const Json golden = Json::parse(read_file(testing::kGoldenFile));
  const MeetingPoint point;
  std::vector<pid_t> children;
  for (int rank = 0; rank < processes; ++rank) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    stop_with_parent();
    int failures = 0;
    try {
      const auto group = join_group({.rank = rank,
                                     .size = processes,
                                     .local_rank = rank,
                                     .local_size = processes,
                                     .address = "127.0.0.1",
                                     .port = point.port(),
                                     .is_served = true},
                                    std::chrono::minutes(2));
      const testing::WithThreads one(1);
      for (const GoldenRun& run : runs) {
        const Json result = run_training(run.config, {.is_quiet = true, .sharing = {group.get()}}).result;
        if (result["weights_sha256"] == golden.at("weights").at(run.name)) continue;
        if (rank == 0) std::fprintf(stderr, "%d processes: other weights: %s\n", processes, run.name.c_str());
        ++failures;
      }
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "rank %d of %d: %s\n", rank, processes, problem.what());
      failures = 100;
    }
    ::_exit(failures);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

/// One of each network, with each normalisation.
std::vector<GoldenRun> some_runs() {
  std::vector<GoldenRun> some;
  for (const GoldenRun& run : testing::golden_runs()) {
    if (run.config.method == "bp-svrg" && run.config.kernels == "fast") some.push_back(run);
  }
  return some;
}

TEST(GoldenGroup, TwoProcessesGiveTheBitsOfOneForEveryNetwork) {
  if (!kernels::are_available()) GTEST_SKIP() << "own kernels need AVX2";
  // The parent never computes: a process that has threads must not be forked.
  EXPECT_EQ(failures_of(some_runs(), 2), (std::vector<int>{0, 0}));
}

TEST(GoldenGroup, FourProcessesGiveTheBitsOfOne) {
  if (!kernels::are_available()) GTEST_SKIP() << "own kernels need AVX2";
  std::vector<GoldenRun> few;
  for (const GoldenRun& run : some_runs()) {
    const bool is_chosen = run.config.model.starts_with("mlp") || run.config.model.starts_with("smallcnn");
    if (is_chosen) few.push_back(run);
  }
  EXPECT_EQ(failures_of(few, 4), (std::vector<int>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace batchplus
