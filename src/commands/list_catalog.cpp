#include <torch/version.h>

#include "commands/commands.h"
#include "datasets/registry.h"
#include "methods/registry.h"
#include "metrics/registry.h"
#include "networks/registry.h"

namespace batchplus {

Catalog list_catalog() {
  Catalog catalog{
      .methods = {}, .metric_groups = {}, .networks = {}, .datasets = {}, .libtorch = TORCH_VERSION};
  for (const MethodInfo& info : methods()) {
    catalog.methods.push_back({.name = info.name,
                               .equation = info.equation,
                               .cost = info.cost_words,
                               .coefficient = info.coefficient,
                               .outer_batch = info.outer_batch,
                               .update_rule = info.update});
  }
  for (const MetricGroup& group : metric_groups()) {
    catalog.metric_groups.push_back(
        {.name = group.name, .help = group.help, .is_of_weights = group.measure != nullptr});
  }
  for (const NetworkInfo& info : networks()) catalog.networks.push_back(info.name);
  for (const DatasetInfo& info : datasets()) catalog.datasets.push_back(info.name);
  return catalog;
}

}  // namespace batchplus
