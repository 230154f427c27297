#include "util/stop_signal.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace batchplus {
namespace {

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use it");
std::atomic<int> first_signal{0};
std::atomic<int> count{0};
std::atomic<bool> is_second_fatal{true};

void on_signal(int signal) {
  if (count.fetch_add(1) > 0) {
    constexpr int kSignalled = 128;
    if (is_second_fatal) ::_exit(kSignalled + signal);
    return;
  }
  first_signal = signal;
}

}  // namespace

void watch_stop_signals(SecondSignal second) {
  is_second_fatal = second == SecondSignal::kExits;
  struct sigaction action {};
  action.sa_handler = on_signal;
  // A write to a file is not cut short by it.
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction present {};
  ::sigaction(SIGHUP, nullptr, &present);
  if (present.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

std::string signal_name(int signal) {
  return std::string("SIG") + ::sigabbrev_np(signal);
}

void stop_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int stop_signal() {
  return first_signal;
}

int stop_signal_count() {
  return count;
}

}  // namespace batchplus
