#pragma once

#include <string>

#include "cli/config_options.h"

namespace batchplus {

struct EvalCommand {
  std::string weights;
  std::string split = "test";
  std::string out;
  /// Options that are those of `train`.
  ConfigOverrides overrides;
};

}  // namespace batchplus
