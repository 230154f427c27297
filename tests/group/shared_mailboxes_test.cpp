#include "group/shared_mailboxes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <numeric>

namespace batchplus::testing {
namespace {

using std::chrono::milliseconds;
using Outcome = SharedMailboxes::Outcome;

constexpr milliseconds kPatient{20000};

/// Two processes with mailboxes, this one at place 0. Returns what `mine` does, and the exit code of a child
/// that does `theirs`, which is killed if it has not ended by then.
struct Pair {
  explicit Pair(const std::function<int(SharedMailboxes&)>& theirs) {
    mailboxes = SharedMailboxes::create(2);
    EXPECT_NE(mailboxes, nullptr);
    const pid_t parent = ::getpid();
    child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const std::string path =
          "/proc/" + std::to_string(parent) + mailboxes->path().substr(mailboxes->path().find("/fd/"));
      const auto own = SharedMailboxes::open(path, 2);
      const bool has_entered = own && own->enter(1, {parent, ::getpid()});
      const int code = has_entered ? theirs(*own) : 99;
      // Like a crash, this leaves no word that the process is gone.
      ::_exit(code);
    }
    EXPECT_TRUE(mailboxes->enter(0, {parent, child}));
  }
  ~Pair() {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  int exit_code() const {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::unique_ptr<SharedMailboxes> mailboxes;
  pid_t child = 0;
};

std::vector<int> numbers_from(int first, size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Sends `count` numbers and receives as many; whether they are those that the other process sends.
bool swap_numbers(SharedMailboxes& mailboxes, int peer, size_t count) {
  const std::vector<int> sent = numbers_from(1 - peer, count);
  std::vector<int> received(count, -1);
  const auto bytes = static_cast<int64_t>(count * sizeof(int));
  const auto result =
      mailboxes.exchange({peer, sent.data(), bytes}, {peer, received.data(), bytes}, kPatient);
  return result.outcome == Outcome::kDone && received == numbers_from(peer, count);
}

// The longest is many times the stream between two processes, and no length divides it.
constexpr size_t kCounts[] = {1, 7, 1000, 65536, 1234567, 3};

TEST(SharedMailboxes, CarryMessagesOfAnyLengthBothWaysAtOnce) {
  Pair pair([](SharedMailboxes& mailboxes) {
    for (const size_t count : kCounts) {
      if (!swap_numbers(mailboxes, 0, count)) return 1;
    }
    return 0;
  });
  for (const size_t count : kCounts) EXPECT_TRUE(swap_numbers(*pair.mailboxes, 1, count)) << count;
  EXPECT_EQ(pair.exit_code(), 0);
}

TEST(SharedMailboxes, WakeAProcessThatSleeps) {
  Pair pair([](SharedMailboxes& mailboxes) {
    for (int i = 0; i < 20; ++i) {
      // Far longer than the other one looks for it before it sleeps.
      ::usleep(10000);
      if (!swap_numbers(mailboxes, 0, 5)) return 1;
    }
    return 0;
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(swap_numbers(*pair.mailboxes, 1, 5)) << i;
  EXPECT_EQ(pair.exit_code(), 0);
}

TEST(SharedMailboxes, NoticeAProcessThatIsKilled) {
  Pair pair([](SharedMailboxes&) {
    ::raise(SIGKILL);
    return 0;
  });
  int number = 0;
  const auto result = pair.mailboxes->exchange({1, nullptr, 0}, {1, &number, sizeof number}, kPatient);
  EXPECT_EQ(result.outcome, Outcome::kGone);
  EXPECT_EQ(result.place, 1);
}

TEST(SharedMailboxes, DeliverWhatAProcessSentBeforeItEnded) {
  Pair pair([](SharedMailboxes& mailboxes) {
    const int number = 42;
    mailboxes.exchange({0, &number, sizeof number}, {0, nullptr, 0}, kPatient);
    return 0;
  });
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pair.child), &ended, WEXITED | WNOWAIT), 0);
  int number = 0;
  const auto result = pair.mailboxes->exchange({1, nullptr, 0}, {1, &number, sizeof number}, kPatient);
  EXPECT_EQ(result.outcome, Outcome::kDone);
  EXPECT_EQ(number, 42);
}

TEST(SharedMailboxes, GiveUpAProcessThatDoesNotAnswer) {
  Pair pair([](SharedMailboxes&) {
    ::raise(SIGSTOP);
    return 0;
  });
  int number = 0;
  const auto result =
      pair.mailboxes->exchange({1, nullptr, 0}, {1, &number, sizeof number}, milliseconds(200));
  EXPECT_EQ(result.outcome, Outcome::kLate);
  EXPECT_EQ(result.place, 1);
}

TEST(SharedMailboxes, MemoryThatIsNotThereIsNoError) {
  EXPECT_EQ(SharedMailboxes::open("/proc/self/fd/987654", 2), nullptr);
}

}  // namespace
}  // namespace batchplus::testing
