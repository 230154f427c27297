#include "sweep/workers.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "util/process.h"
#include "util/stop_signal.h"

namespace batchplus {
namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

/// The cores of each worker: as many as it has threads, all of them in use, and shared when there are not
/// enough.
std::vector<std::vector<int>> share_out(const std::vector<int>& cores, WorkerOptions options) {
  const auto all = static_cast<int64_t>(cores.size());
  auto [workers, threads] = options;
  if (workers == 0) workers = threads > 0 ? std::max<int64_t>(1, all / threads) : all;
  if (threads == 0) threads = std::max<int64_t>(1, all / workers);
  std::vector<std::vector<int>> shares(static_cast<size_t>(workers));
  for (int64_t i = 0; i < workers * std::min(threads, all); ++i) {
    shares[static_cast<size_t>(i / std::min(threads, all))].push_back(cores[static_cast<size_t>(i % all)]);
  }
  return shares;
}

using Workers = std::vector<std::unique_ptr<ChildProcess>>;

Workers start_workers(const Sweep& sweep, const std::vector<std::vector<int>>& shares,
                      const WorkerCommand& command) {
  Workers workers;
  for (size_t w = 0; w < shares.size(); ++w) {
    workers.push_back(
        std::make_unique<ChildProcess>(command(shares[w]), sweep.directory.log(static_cast<int64_t>(w))));
  }
  return workers;
}

/// Until all of them have ended. The first signal makes them save their runs and stop, the second stop at
/// once.
void wait_for(Workers& workers, const std::function<void()>& show) {
  const auto is_running = [](const auto& worker) { return !worker->exit_code(); };
  int forwarded = 0;
  while (std::any_of(workers.begin(), workers.end(), is_running)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(stop_signal() != 0 ? 50 : 500));
    for (; forwarded < stop_signal_count(); ++forwarded) {
      for (const auto& worker : workers) worker->send(SIGTERM);
    }
    show();
  }
}

}  // namespace

void run_workers(const Sweep& sweep, const WorkerOptions& options, const WorkerCommand& command,
                 const std::function<void(const SweepTally&)>& show) {
  const auto shares = share_out(usable_cores(), options);
  double done_before = -1;
  while (true) {
    const SweepTally before = tally(sweep);
    show(before);
    // A worker that was killed leaves its run behind for the next round.
    if (before.is_finished() || before.done <= done_before || stop_signal() != 0) return;
    done_before = before.done;
    Workers workers = start_workers(sweep, shares, command);
    wait_for(workers, [&] { show(tally(sweep)); });
  }
}

void pin_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace batchplus
