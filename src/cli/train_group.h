#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "group/membership.h"
#include "objective/shared_batch.h"

namespace batchplus {

/// How `train` is spread over processes, as the options say.
struct GroupOptions {
  /// 0: not given.
  int processes = 0;
  std::string launcher = "own";
  /// Empty: exact where the number of processes allows it.
  std::string reduction;
  double timeout_seconds = 120;
  int restarts = 0;
};

void add_group_options(CLI::App& train, GroupOptions& options);

/// This process's place among others, if it has any. An Error where that contradicts the options.
std::optional<Membership> membership_of(const GroupOptions& options);

/// Whether this process is to start those that train, instead of training itself.
bool is_launching(const GroupOptions& options, const std::optional<Membership>& membership);

/// Starts the processes with the arguments of this one, waits for them, and starts them again after a failure
/// as often as the options allow. Returns the exit code.
int launch(const GroupOptions& options, bool has_directory);

/// Joins the others. The cores of a machine are divided among its processes, unless the launcher has done so;
/// so are the threads, unless somebody has chosen.
std::unique_ptr<Group> join(const GroupOptions& options, const Membership& membership,
                            const GlobalOptions& global);

/// How gradients are added up among so many processes. An Error when they cannot be as the options want it.
kernels::SampleShare::Sums sums_of(const GroupOptions& options, int processes);

}  // namespace batchplus
