#include "cli/catalog.h"

namespace batchplus {

Json to_json(const Catalog::Method& method) {
  return {{"name", method.name},
          {"equation", method.equation},
          {"cost", method.cost},
          {"coefficient", method.coefficient},
          {"outer_batch", method.outer_batch},
          {"update_rule", method.update_rule}};
}

Json to_json(const Catalog& catalog) {
  Json methods = Json::array();
  for (const Catalog::Method& method : catalog.methods) methods.push_back(to_json(method));
  Json groups = Json::array();
  for (const Catalog::MetricGroup& group : catalog.metric_groups)
    groups.push_back({{"name", group.name}, {"help", group.help}, {"is_of_weights", group.is_of_weights}});
  return {{"methods", methods},
          {"metric_groups", groups},
          {"networks", catalog.networks},
          {"datasets", catalog.datasets},
          {"libtorch", catalog.libtorch}};
}

Catalog parse_catalog(const Json& json) {
  Catalog catalog;
  for (const Json& row : json.at("methods")) {
    catalog.methods.push_back({.name = row.at("name"),
                               .equation = row.at("equation"),
                               .cost = row.at("cost"),
                               .coefficient = row.at("coefficient"),
                               .outer_batch = row.at("outer_batch"),
                               .update_rule = row.at("update_rule")});
  }
  for (const Json& row : json.at("metric_groups")) {
    catalog.metric_groups.push_back(
        {.name = row.at("name"), .help = row.at("help"), .is_of_weights = row.at("is_of_weights")});
  }
  json.at("networks").get_to(catalog.networks);
  json.at("datasets").get_to(catalog.datasets);
  json.at("libtorch").get_to(catalog.libtorch);
  return catalog;
}

}  // namespace batchplus
