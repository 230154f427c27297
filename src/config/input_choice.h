#pragma once

#include <string>

#include "config/run_config.h"

namespace batchplus {

/// "training data", "test data", "validation data" and "initial weights", which are "train", "test",
/// "validation" and "init" where inputs are recorded.
std::string describe_input(const std::string& input);

/// What a config says of one of these inputs: two configs that say the same mean the same files,
/// of which they take the same samples.
std::string input_choice(const std::string& input, const RunConfig& config);

}  // namespace batchplus
