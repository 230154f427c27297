#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace batchplus {

/// The config of a run has every default written out: its method's coefficient, update rule and outer batch,
/// its dataset's normalisation. With options on top of such a file they would stay what they were. An Error
/// when `asked` has another method than `file` and keeps what is not its own; of the other values that stay
/// behind a note each. `given` are the keys of the options.
std::vector<std::string> note_settled_values(const RunConfig& file, const RunConfig& asked,
                                             const std::vector<std::string>& given);

}  // namespace batchplus
