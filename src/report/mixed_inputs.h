#pragma once

#include "report/comparison.h"

namespace batchplus {

/// Notes runs that were given something else than the others under the same name: data whose files changed
/// between them, other weights in one `init` file. Their means and differences are not of one thing.
void note_mixed_inputs(Comparison& comparison);

}  // namespace batchplus
