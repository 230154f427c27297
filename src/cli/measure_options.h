#pragma once

#include <string>

#include "cli/config_options.h"

namespace batchplus {

struct MeasureCommand {
  std::string run;
  std::string weights;
  std::string quantities = "all";
  std::string out;
  bool is_per_layer = false;
  /// Options of `train` that were given.
  ConfigOverrides overrides;
};

}  // namespace batchplus
