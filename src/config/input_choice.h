#pragma once

#include <string>

#include "config/run_config.h"

namespace batchplus {

/// What a config says of one of a run's inputs, "train", "test" or "validation" samples or "init" weights:
/// two configs that say the same mean the same files, of which they take the same samples.
std::string input_choice(const std::string& input, const RunConfig& config);

}  // namespace batchplus
