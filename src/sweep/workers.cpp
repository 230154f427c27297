#include "sweep/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "util/cores.h"
#include "util/process.h"
#include "util/stop_signal.h"

namespace batchplus {
namespace {

/// What makes a worker save its run and stop.
constexpr int kStop = SIGTERM;

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

/// A worker process, which is started again when a signal has ended it.
class Worker {
 public:
  Worker(size_t number, std::vector<std::string> command, std::filesystem::path log)
      : number_(number), command_(std::move(command)), log_(std::move(log)) {
    start();
  }

  void send(int signal) { process_->send(signal); }
  /// Whether it has ended and is not started again.
  bool is_settled() const { return is_settled_; }
  bool is_given_up() const { return is_given_up_; }

  /// Looks after a worker that has ended, `ended_runs` runs of the sweep with it. What to tell; empty:
  /// nothing.
  std::string attend(int64_t ended_runs) {
    if (!process_->exit_code() || is_settled_) return "";
    const int code = *process_->exit_code();
    if (!process_->was_killed()) {
      is_settled_ = true;
      // A worker itself fails when its files cannot be written, and not when a run does.
      return code == 0 || stop_signal() != 0
                 ? ""
                 : fmt::format("worker {} ended with exit code {}; see {}", number_, code, log_.string());
    }
    if (ended_runs > ended_runs_) times_killed_ = 0;
    ended_runs_ = ended_runs;
    ++times_killed_;
    constexpr int kSignalled = 128;
    const std::string what =
        fmt::format("worker {} was ended by {}", number_, signal_name(code - kSignalled));
    constexpr int kMostTimes = 3;
    is_given_up_ = times_killed_ >= kMostTimes;
    is_settled_ = is_given_up_ || stop_signal() != 0;
    if (is_given_up_) {
      return fmt::format("{}; given up after {} times (memory? fewer workers need less); see {}", what,
                         times_killed_, log_.string());
    }
    // Asked to stop, one that had not yet begun to listen dies of the signal itself.
    if (is_settled_) return code - kSignalled == kStop ? "" : what;
    start();
    return what + "; started again";
  }

 private:
  void start() { process_ = std::make_unique<ChildProcess>(command_, log_); }

  size_t number_;
  std::vector<std::string> command_;
  std::filesystem::path log_;
  std::unique_ptr<ChildProcess> process_;
  /// In a row, without a run of the sweep coming to its end.
  int times_killed_ = 0;
  int64_t ended_runs_ = 0;
  bool is_given_up_ = false;
  bool is_settled_ = false;
};

/// Until all of them have ended. The first signal makes them save their runs and stop, the second stop at
/// once.
void wait_for(std::vector<Worker>& workers, const Sweep& sweep, const WorkerAudience& audience) {
  int forwarded = 0;
  const auto is_settled = [](const Worker& worker) { return worker.is_settled(); };
  while (!std::all_of(workers.begin(), workers.end(), is_settled)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(stop_signal() != 0 ? 50 : 500));
    for (; forwarded < stop_signal_count(); ++forwarded) {
      for (Worker& worker : workers) worker.send(kStop);
    }
    const SweepTally present = tally(sweep, RecordsCheck::kPresence);
    for (Worker& worker : workers) {
      const std::string news = worker.attend(present.count_ended());
      if (!news.empty()) audience.tell(news);
    }
    audience.show(present);
  }
}

}  // namespace

void run_workers(const Sweep& sweep, const WorkerOptions& options, const WorkerCommand& command,
                 const WorkerAudience& audience) {
  const auto shares = share_out(usable_cores(), options);
  double done_before = -1;
  bool has_given_up = false;
  while (!has_given_up) {
    const SweepTally before = tally(sweep);
    audience.show(before);
    // What workers elsewhere left behind is taken up in another round.
    if (before.is_finished() || before.done <= done_before || stop_signal() != 0) return;
    done_before = before.done;
    std::vector<Worker> workers;
    for (size_t w = 0; w < shares.size(); ++w)
      workers.emplace_back(w, command(shares[w]), sweep.directory.log(static_cast<int64_t>(w)));
    wait_for(workers, sweep, audience);
    has_given_up = std::any_of(workers.begin(), workers.end(),
                               [](const Worker& worker) { return worker.is_given_up(); });
  }
}

}  // namespace batchplus
