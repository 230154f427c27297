#pragma once

#include <string>
#include <vector>

#include "networks/registry.h"

namespace batchplus::testing {

/// "densenet:depth=16,growth=4": the network with the settings that its row has for tests.
inline std::string small_name(const NetworkInfo& info) {
  std::string name = info.name;
  for (const auto& [setting, value] : info.small) {
    name += (name == info.name ? ":" : ",") + setting + "=" + std::to_string(value);
  }
  return name;
}

/// Every network of the table, made small.
inline std::vector<std::string> small_networks() {
  std::vector<std::string> names;
  for (const NetworkInfo& info : networks()) names.push_back(small_name(info));
  return names;
}

/// Too large for tests that do much with it as it is, or whose tolerance has no room for so many values.
inline bool is_large(const NetworkInfo& info) {
  constexpr int64_t kParameters = 15'000'000;
  return count_parameters(*build_network(info, {}, 1).module) > kParameters;
}

}  // namespace batchplus::testing
