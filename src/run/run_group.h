#pragma once

#include <optional>

#include "checkpoint/checkpoint.h"
#include "config/run_config.h"
#include "group/group.h"
#include "run/run_plan.h"
#include "util/json.h"

namespace batchplus {

/// The config of all ranks: that of rank 0, which may have read it in the run's directory. An Error that
/// names a rank which was asked for something else. Where files are may differ.
RunConfig agree_on_config(Group& group, const RunConfig& asked, const RunConfig& config);

/// An Error that names a rank with another program, config, data or way to add gradients up than rank 0.
/// `inputs` are the digests of what the run is given.
void agree_on_run(Group& group, const RunPlan& plan, const Json& inputs, kernels::SampleShare::Sums sums);

/// An Error where BatchNorm's moments are those of each of another number of processes. `group`: null for a
/// process by itself.
void require_processes_of_moments(const RunConfig& config, const Group* group);

/// What a run goes on from.
struct Beginning {
  /// The result of a run that has ended already; else null.
  Json result = nullptr;
  std::optional<Checkpoint> checkpoint = std::nullopt;
};

/// That of rank 0, which alone has the run's directory.
Beginning share(Group& group, Beginning own);

}  // namespace batchplus
