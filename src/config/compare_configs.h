#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace batchplus {

/// Values of a config as text, by their keys. A key that is not there may have any value.
using ConfigValues = std::map<std::string, std::string>;

/// All that decide the result; those that are not set are empty.
ConfigValues result_values(const RunConfig& config);

/// A key whose value is not the expected one; a value that is not set is "not set".
struct ConfigDifference {
  std::string key;
  std::string expected;
  std::string found;
};

/// In the order of the table of options.
std::vector<ConfigDifference> find_differences(const ConfigValues& expected, const RunConfig& config);

/// "epochs is 6, not 2; lr is 0.2, not 0.1"; empty when there is none.
std::string describe_differences(const ConfigValues& expected, const RunConfig& config);

}  // namespace batchplus
