#include "experiment/run_data.h"

#include <fmt/format.h>

#include "networks/registry.h"

namespace batchplus {

RunData load_run_data(RunConfig& config) {
  const DatasetInfo info = find_dataset(config.dataset);
  RunData data{load_dataset(info, data_directory(config.data_dir)), {}, {}};
  data.views = make_views(data.dataset, {.train_limit = config.train_limit,
                                         .test_limit = config.test_limit,
                                         .validation = config.validation,
                                         .is_sequential = config.sampling == "sequential",
                                         .split_seed = static_cast<uint64_t>(config.split_seed)});
  if (config.augment == "auto") config.augment = info.is_augmented_by_default ? "standard" : "none";
  data.normalization = parse_normalization(config.normalize, data.dataset);
  config.normalize =
      fmt::format("{}/{}", fmt::join(data.normalization.mean, ","), fmt::join(data.normalization.std, ","));
  return data;
}

Model build_run_network(const RunConfig& config, const Dataset& dataset) {
  return build_network(find_network(config.model),
                       {.channels = dataset.channels(),
                        .side = dataset.height(),
                        .classes = dataset.classes(),
                        .dropout = config.dropout},
                       static_cast<uint64_t>(config.seed));
}

}  // namespace batchplus
