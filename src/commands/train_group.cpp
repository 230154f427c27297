#include "commands/train_group.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "cli/own_programs.h"
#include "group/c10d_group.h"
#include "util/clock.h"
#include "util/cores.h"
#include "util/error.h"
#include "util/process.h"
#include "util/standard_streams.h"
#include "util/stop_signal.h"
#include "util/text.h"

namespace batchplus {
namespace {

using Sums = kernels::SampleShare::Sums;

constexpr int kSignalled = 128;

/// The share of a rank; with more ranks than cores they take turns.
std::vector<int> cores_of(const std::vector<int>& cores, int rank, int size) {
  const auto count = static_cast<int>(cores.size());
  if (count < size) return {cores[static_cast<size_t>(rank % count)]};
  return {cores.begin() + count * rank / size, cores.begin() + count * (rank + 1) / size};
}

/// The words by which this process was started.
std::vector<std::string> own_command(bool is_resuming) {
  // Files of /proc do not say how long they are.
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  BATCHPLUS_CHECK(!words.empty(), "a process has a command");
  words.front() = called_program().string();
  if (is_resuming && std::find(words.begin(), words.end(), "--resume") == words.end())
    words.emplace_back("--resume");
  return words;
}

/// The processes of one attempt.
class Attempt {
 public:
  Attempt(const GroupOptions& options, int number, bool is_resuming) : options_(options) {
    const std::vector<std::string> command = own_command(is_resuming);
    for (int rank = 0; rank < options.processes; ++rank) {
      children_.push_back(
          std::make_unique<ChildProcess>(command, to_variables({.rank = rank,
                                                                .size = options.processes,
                                                                .local_rank = rank,
                                                                .local_size = options.processes,
                                                                .address = "127.0.0.1",
                                                                .port = point_.port(),
                                                                .is_served = true,
                                                                .attempt = std::to_string(number)})));
    }
  }

  /// Until all have ended. Those that outlive a failure for longer than they may are killed.
  void wait() {
    std::optional<Stopwatch> since_failure;
    bool is_told = false;
    while (true) {
      bool is_running = false;
      for (auto& child : children_) {
        const std::optional<int> code = child->exit_code();
        is_running |= !code;
        if (code && *code != 0 && !since_failure) since_failure.emplace();
      }
      if (!is_running) return;
      if (stop_signal() != 0 && !is_told) {
        for (auto& child : children_) child->send(stop_signal());
        is_told = true;
      }
      // Ranks find out by themselves who is lost; one that is stopped does not.
      constexpr double kGrace = 15;
      if (since_failure && since_failure->seconds() > options_.timeout_seconds + kGrace) {
        for (auto& child : children_) child->send(SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  /// That of the first process, unless another one failed.
  int exit_code() {
    const int first = *children_.front()->exit_code();
    // A signal that ended a rank was not for this process.
    const bool is_lost = children_.front()->was_killed() && stop_signal() == 0;
    if (first != 0 && !is_lost) return first;
    for (auto& child : children_) {
      if (*child->exit_code() != 0) return Error::kFailure;
    }
    return 0;
  }

  /// Whether one that failed might do better another time.
  bool is_worth_another() {
    if (stop_signal() != 0) return false;
    return std::any_of(children_.begin(), children_.end(), [](auto& child) {
      const int code = *child->exit_code();
      return code == Error::kFailure || code > kSignalled;
    });
  }

  void tell_who_was_killed() {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      const int code = *children_[rank]->exit_code();
      if (!children_[rank]->was_killed()) continue;
      tell("batchplus: rank {} on {} was ended by {}\n", rank, host_name(), signal_name(code - kSignalled));
    }
  }

 private:
  const GroupOptions& options_;
  MeetingPoint point_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

}  // namespace

std::optional<Membership> membership_of(const GroupOptions& options) {
  const Launcher launcher = parse_launcher(options.launcher);
  const auto membership = find_membership(launcher, read_environment);
  const bool is_given = options.processes > 0 && membership;
  if (is_given && options.processes != membership->size) {
    throw Error("another launcher has started the processes already",
                {"processes", std::to_string(options.processes),
                 fmt::format("there are {}; leave the option out", membership->size)});
  }
  // Mistakes are told once, and not by each process.
  const int processes = membership ? membership->size : std::max(1, options.processes);
  RunConfig config;
  set_batch_norm(config, options, processes);
  if (!options.reduction.empty()) sums_of(options, processes, config.local_batch_norm > 0);
  if (options.restarts > 0 && options.processes < 2) {
    throw Error("only processes that this program starts can be started again by it",
                {"restarts", std::to_string(options.restarts), "give {processes} too"});
  }
  return membership;
}

bool is_launching(const GroupOptions& options, const std::optional<Membership>& membership) {
  return options.processes > 1 && !membership;
}

int launch(const GroupOptions& options, bool has_directory) {
  watch_stop_signals(SecondSignal::kIsCounted);
  for (int number = 0;; ++number) {
    Attempt attempt(options, number, number > 0 && has_directory);
    attempt.wait();
    attempt.tell_who_was_killed();
    if (number >= options.restarts || !attempt.is_worth_another()) return attempt.exit_code();
    tell("batchplus: starting the processes again ({} of {})\n", number + 1, options.restarts);
  }
}

std::unique_ptr<Group> join(const GroupOptions& options, const Membership& membership,
                            const GlobalOptions& global) {
  auto group =
      join_group(membership, std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000)));
  const std::vector<int> cores = usable_cores();
  const bool is_pinned_already = cores.size() < std::thread::hardware_concurrency();
  if (membership.local_size == 1 || is_pinned_already) return group;
  // Only now, so that the thread that serves the sockets is not bound to the same core.
  const std::vector<int> own = cores_of(cores, membership.local_rank, membership.local_size);
  const auto threads = static_cast<int>(own.size());
  if (global.threads <= threads) pin_to(own);
  if (global.threads == 0) at::set_num_threads(threads);
  return group;
}

void set_batch_norm(RunConfig& config, const GroupOptions& options, int processes) {
  if (options.batch_norm.empty()) return;
  const bool is_local = options.batch_norm == "local";
  if (!is_local && options.batch_norm != "synchronized") {
    throw Error("no such moments", {"batch_norm", options.batch_norm,
                                    suggest_name(options.batch_norm, {"synchronized", "local"})});
  }
  if (is_local && processes == 1) {
    throw Error("one process has all samples of a batch",
                {"batch_norm", options.batch_norm, "give {processes} too, or leave {batch_norm} out"});
  }
  config.local_batch_norm = is_local ? processes : 0;
}

Sums sums_of(const GroupOptions& options, int processes, bool has_local_moments) {
  if (has_local_moments && options.reduction == "exact") {
    throw Error("moments of each process's samples do not give the bits of one process",
                {"reduction", options.reduction, "leave it out, or take {batch_norm} synchronized"});
  }
  const bool can_be_exact =
      !has_local_moments && kernels::SampleShare::is_possible(kernels::Parts::kMost, processes, Sums::kExact);
  if (options.reduction.empty()) return can_be_exact ? Sums::kExact : Sums::kLater;
  if (options.reduction == "fast") return Sums::kLater;
  if (options.reduction != "exact") {
    throw Error("no such way to add gradients up",
                {"reduction", options.reduction, suggest_name(options.reduction, {"exact", "fast"})});
  }
  if (can_be_exact) return Sums::kExact;
  throw Error("so many processes cannot give the bits of one",
              {"reduction", fmt::format("exact, with {} processes", processes),
               "take 2, 4 or 8 of them, or {reduction} fast"});
}

}  // namespace batchplus
