#pragma once

#include <cstdint>
#include <string>

#include "cli/serve_options.h"
#include "config/slurm_options.h"
#include "config/sweep_request.h"

namespace batchplus {

/// `sweep --slurm`, as the options say.
struct SlurmCommand {
  bool is_asked = false;
  SlurmOptions options;
};

struct SweepCommand {
  SweepRequest request;
  /// `sweep status`.
  bool is_status = false;
  int64_t workers = 0;
  int64_t index = -1;
  bool is_dry_run = false;
  bool is_calibrated = true;
  bool is_retrying = false;
  SlurmCommand slurm;
  bool is_requeuing = false;
  /// `--watch`: a page of the sweep while it runs.
  bool is_watched = false;
  ServeCommand page;
  /// This process is a worker of another one; pinned to these cores.
  std::string worker_cores;
};

}  // namespace batchplus
