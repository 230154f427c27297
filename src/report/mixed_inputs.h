#pragma once

#include "config/run_config.h"
#include "report/comparison.h"

namespace batchplus {

/// What a run says of its inputs.
struct RunInputs {
  RunConfig config;
  /// Digests, as inputs_of has them.
  Json digests;
};

/// The inputs ("test", "init") that differ between runs although their configs name the same. Test data also
/// counts where it differs because the configs take other samples of it.
std::vector<std::string> find_mixed_inputs(const std::vector<RunInputs>& runs);

/// Leaves out runs of a row that were given something else than most of it under the same name, with a note:
/// the grid of a sweep has no other place for them.
void leave_out_mixed_inputs(Comparison& comparison);

/// Notes runs that were given something else than the others under the same name: data whose files changed
/// between them, other weights in one `init` file. Their means and differences are not of one thing.
void note_mixed_inputs(Comparison& comparison);

}  // namespace batchplus
