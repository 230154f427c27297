#include "config/compare_configs.h"

#include <fmt/format.h>

#include "config/config_fields.h"
#include "util/text.h"

namespace batchplus {

ConfigValues result_values(const RunConfig& config) {
  ConfigValues values;
  for (const ConfigField& field : config_fields()) {
    if (field.decides_result) values[field.key] = field.get(config);
  }
  return values;
}

std::vector<ConfigDifference> find_differences(const ConfigValues& expected, const RunConfig& config) {
  const auto shown = [](const std::string& value) { return value.empty() ? std::string("not set") : value; };
  std::vector<ConfigDifference> differences;
  for (const ConfigField& field : config_fields()) {
    const auto wanted = expected.find(field.key);
    const std::string found = field.get(config);
    if (wanted == expected.end() || wanted->second == found) continue;
    differences.push_back({field.key, shown(wanted->second), shown(found)});
  }
  return differences;
}

std::string describe_differences(const ConfigValues& expected, const RunConfig& config) {
  std::vector<std::string> parts;
  for (const auto& [key, wanted, found] : find_differences(expected, config))
    parts.push_back(fmt::format("{} is {}, not {}", key, found, wanted));
  return join(parts, "; ");
}

}  // namespace batchplus
