#include "group/c10d_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <functional>

#include "group/background_sums.h"
#include "util/error.h"

namespace batchplus::testing {
namespace {

using std::chrono::milliseconds;

/// Runs body(group) in a process for each rank; the exit code of each is what it returns. 128 and more: that
/// signal ended it.
std::vector<int> run_processes(int size, milliseconds timeout, const std::function<int(Group&)>& body) {
  // The meeting point has threads, and a process with threads must not fork: children learn of it by a pipe.
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return {};
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      int code = 1;
      int port = 0;
      if (::read(pipe[0], &port, sizeof port) != sizeof port) ::_exit(code);
      try {
        const auto group = join_group({.rank = rank,
                                       .size = size,
                                       .local_rank = rank,
                                       .local_size = size,
                                       .address = "127.0.0.1",
                                       .port = port,
                                       .is_served = true},
                                      timeout);
        code = body(*group);
      } catch (const std::exception& problem) {
        std::fprintf(stderr, "rank %d: %s\n", rank, problem.what());
      }
      ::_exit(code);
    }
    children.push_back(child);
  }
  const MeetingPoint point;
  const int port = point.port();
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(::write(pipe[1], &port, sizeof port), sizeof port);
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
      // The others have ended by the time they are waited for; this one is of no more use.
      codes.push_back(-1);
      continue;
    }
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    if (codes[i] != -1) continue;
    ::kill(children[i], SIGKILL);
    ::waitpid(children[i], nullptr, 0);
  }
  for (const int end : pipe) ::close(end);
  return codes;
}

/// Processes of one machine share memory, unless sockets are asked for as between machines.
class C10dGroupOver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ::setenv("BATCHPLUS_LINKS", GetParam(), 1); }
  void TearDown() override { ::unsetenv("BATCHPLUS_LINKS"); }
};
INSTANTIATE_TEST_SUITE_P(, C10dGroupOver, ::testing::Values("memory", "sockets"),
                         [](const auto& info) { return info.param; });

TEST_P(C10dGroupOver, AddsGathersAndAgreesAmongProcesses) {
  for (const int size : {2, 3, 4}) {
    const auto codes = run_processes(size, milliseconds(20000), [](Group& group) {
      std::vector<float> values(100000, 0.1F * static_cast<float>(group.rank() + 1));
      group.sum(values.data(), static_cast<int64_t>(values.size()));
      float expected = 0;
      for (int rank = 0; rank < group.size(); ++rank) expected += 0.1F * static_cast<float>(rank + 1);
      for (const float value : values) {
        if (std::abs(value - expected) > 1e-6F) return 2;
      }
      int number = group.rank();
      group.broadcast(&number, sizeof number);
      if (number != 0) return 4;
      const auto texts = group.gather("text of " + std::to_string(group.rank()));
      if (texts.back() != "text of " + std::to_string(group.size() - 1)) return 5;
      group.agree("the number", std::to_string(number), "");
      return 0;
    });
    EXPECT_EQ(codes, std::vector<int>(static_cast<size_t>(size), 0)) << size;
  }
}

/// What the ranks that are left say when rank 1 of 4 does not take part in `work`.
int survive(Group& group, const std::function<void()>& disappear, const std::function<void()>& work) {
  float value = 1;
  group.sum(&value, 1);
  if (group.rank() == 1) disappear();
  try {
    work();
  } catch (const Error& problem) {
    const bool is_named = problem.summary().find("lost rank 1 on ") == 0;
    if (!is_named) std::fprintf(stderr, "rank %d: %s\n", group.rank(), problem.what());
    return is_named && problem.exit_code() == Error::kFailure ? 7 : 8;
  }
  return 9;
}

/// Ranks wait for each other, not all of them for rank 1.
int survive(Group& group, const std::function<void()>& disappear) {
  return survive(group, disappear, [&] {
    float value = 1;
    for (int i = 0; i < 10; ++i) group.sum(&value, 1);
  });
}

TEST_P(C10dGroupOver, AKilledRankIsNamedByAllOthers) {
  const auto codes = run_processes(4, milliseconds(20000),
                                   [](Group& group) { return survive(group, [] { ::raise(SIGKILL); }); });
  EXPECT_EQ(codes, (std::vector<int>{7, 128 + SIGKILL, 7, 7}));
}

TEST_P(C10dGroupOver, AStoppedRankIsNamedAfterTheTimeout) {
  const auto codes = run_processes(4, milliseconds(1500),
                                   [](Group& group) { return survive(group, [] { ::raise(SIGSTOP); }); });
  EXPECT_EQ(codes, (std::vector<int>{7, -1, 7, 7}));
}

/// Ranks whose sums in the background are under way, while they themselves meet or not.
class C10dCompanion : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ::setenv("BATCHPLUS_LINKS", "sockets", 1); }
  void TearDown() override { ::unsetenv("BATCHPLUS_LINKS"); }

  static int survive_in_background(Group& group, bool meets, const std::function<void()>& disappear) {
    std::vector<float> values(3000000, 1);
    const auto count = static_cast<int64_t>(values.size());
    BackgroundSums sums(*group.companion());
    const auto disappear_midway = [&] {
      // More than fits into sockets: it has begun, and cannot be over.
      sums.begin(values.data(), count);
      disappear();
    };
    return survive(group, disappear_midway, [&] {
      sums.begin(values.data(), count);
      float value = 1;
      for (int i = 0; meets && i < 10; ++i) group.sum(&value, 1);
      sums.finish();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(, C10dCompanion, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "WhileMeeting" : "Alone"; });

TEST_P(C10dCompanion, AKilledRankIsNamedByAllOthersWhileSumsAreUnderWay) {
  const auto codes = run_processes(4, milliseconds(20000), [](Group& group) {
    return survive_in_background(group, GetParam(), [] { ::raise(SIGKILL); });
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 128 + SIGKILL, 7, 7}));
}

TEST_P(C10dCompanion, AStoppedRankIsNamedAfterTheTimeoutWhileSumsAreUnderWay) {
  const auto codes = run_processes(4, milliseconds(1500), [](Group& group) {
    return survive_in_background(group, GetParam(), [] { ::raise(SIGSTOP); });
  });
  EXPECT_EQ(codes, (std::vector<int>{7, -1, 7, 7}));
}

TEST(C10dGroup, SumsInTheBackgroundHaveTheBitsOfOthers) {
  ::setenv("BATCHPLUS_LINKS", "sockets", 1);
  for (const int size : {2, 3, 4}) {
    const auto codes = run_processes(size, milliseconds(20000), [](Group& group) {
      // Its sum depends on the order.
      std::vector<float> values(1000003);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(static_cast<float>(i + 1)) * static_cast<float>(group.rank() * 1000 + 1);
      std::vector<float> expected = values;
      group.sum(expected.data(), static_cast<int64_t>(expected.size()));
      BackgroundSums sums(*group.companion());
      constexpr int64_t kFirst = 400001;
      sums.begin(values.data(), kFirst);
      double meeting = 1;
      group.sum(&meeting, 1);
      sums.begin(values.data() + kFirst, static_cast<int64_t>(values.size()) - kFirst);
      group.sum(&meeting, 1);
      sums.finish();
      if (meeting != group.size() * group.size()) return 2;
      return values == expected ? 0 : 3;
    });
    EXPECT_EQ(codes, std::vector<int>(static_cast<size_t>(size), 0)) << size;
  }
  ::unsetenv("BATCHPLUS_LINKS");
}

// As Gloo does when another rank is lost; the signal would end this one before it has named that.
TEST(C10dGroup, WritingToAClosedConnectionDoesNotEndARank) {
  ::setenv("BATCHPLUS_LINKS", "sockets", 1);
  const auto codes = run_processes(2, milliseconds(20000), [](Group& group) {
    // Nobody leaves before both have joined.
    float value = 1;
    group.sum(&value, 1);
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) return 2;
    ::close(pipe[0]);
    return ::write(pipe[1], "x", 1) == -1 && errno == EPIPE ? 0 : 3;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
  ::unsetenv("BATCHPLUS_LINKS");
}

TEST(C10dGroup, ARankThatNeverComesIsNamed) {
  const MeetingPoint point;
  try {
    join_group({.rank = 0, .size = 2, .address = "127.0.0.1", .port = point.port(), .is_served = true},
               milliseconds(300));
    FAIL() << "joined";
  } catch (const Error& problem) {
    EXPECT_NE(problem.summary().find("rank 1 of 2"), std::string::npos) << problem.what();
  }
}

}  // namespace
}  // namespace batchplus::testing
