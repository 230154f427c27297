#pragma once

#include <string>
#include <vector>

#include "util/json.h"

namespace batchplus {

/// What the registries hold, in words, for commands that need no torch. The core makes it of the registries
/// (src/commands/list_catalog.cpp) and prints it when the launcher is built, which has it inside.
struct Catalog {
  struct Method {
    std::string name;
    std::string equation;
    /// In gradient evaluations.
    std::string cost;
    std::string coefficient;
    std::string outer_batch;
    std::string update_rule;
  };
  struct MetricGroup {
    std::string name;
    std::string help;
    /// Whether weights alone allow it, and not only a training.
    bool is_of_weights = true;
  };
  std::vector<Method> methods;
  std::vector<MetricGroup> metric_groups;
  std::vector<std::string> networks;
  std::vector<std::string> datasets;
  /// Of the headers that the core was built with.
  std::string libtorch;
};

Json to_json(const Catalog::Method& method);
Json to_json(const Catalog& catalog);
/// The same again.
Catalog parse_catalog(const Json& json);

}  // namespace batchplus
