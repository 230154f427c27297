#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sweep/sweep.h"

namespace batchplus {

/// How the cores of this machine are shared out; 0: as many workers as fit, one thread each.
struct WorkerOptions {
  int64_t workers = 0;
  int64_t threads = 0;
};

/// The command line of a worker that is to run on these cores.
using WorkerCommand = std::function<std::vector<std::string>(const std::vector<int>& cores)>;

/// Who is told what happens.
struct WorkerAudience {
  /// Each new tally.
  std::function<void(const SweepTally&)> show;
  /// What went wrong with a worker, in words.
  std::function<void(const std::string&)> tell;
};

/// Runs worker processes until no run is left, or they stop getting on, or a signal stops them. One that a
/// signal ended (out of memory) is started again, and given up when that happens three times without a run
/// coming to its end.
void run_workers(const Sweep& sweep, const WorkerOptions& options, const WorkerCommand& command,
                 const WorkerAudience& audience);

}  // namespace batchplus
