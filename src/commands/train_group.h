#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/train_options.h"
#include "config/run_config.h"
#include "group/membership.h"
#include "objective/shared_batch.h"

namespace batchplus {

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

/// What the config says about BatchNorm's moments becomes what the options say, if they do. An Error where so
/// many processes cannot have it so.
void set_batch_norm(RunConfig& config, const GroupOptions& options, int processes);

/// How gradients are added up among so many processes. An Error when they cannot be as the options want it.
/// `has_local_moments`: each process has its own for BatchNorm.
kernels::SampleShare::Sums sums_of(const GroupOptions& options, int processes, bool has_local_moments);

}  // namespace batchplus
