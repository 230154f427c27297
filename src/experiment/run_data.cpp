#include "experiment/run_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "networks/registry.h"
#include "util/hash.h"

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

std::string fingerprint(const ImageView& view) {
  Hash hash;
  const auto add = [&](const torch::Tensor& whole, const torch::Tensor& indices) {
    const torch::Tensor part = whole.index_select(0, indices).contiguous();
    hash.add(part.data_ptr(), part.nbytes());
  };
  const torch::Tensor indices = torch::tensor(view.indices);
  constexpr int64_t kImages = 1000;
  add(view.set.labels, indices);
  add(view.set.images, indices.slice(0, 0, view.size(), std::max<int64_t>(1, view.size() / kImages)));
  return hash.hex();
}

Kernels kernels_of(const RunConfig& config) {
  if (config.kernels == "aten") return Kernels::kAten;
  return config.kernels == "direct" ? Kernels::kDirect : Kernels::kFast;
}

Model build_run_network(const RunConfig& config, const Dataset& dataset) {
  Model model = build_network(find_network(config.model),
                              {.channels = dataset.channels(),
                               .side = dataset.height(),
                               .classes = dataset.classes(),
                               .dropout = config.dropout},
                              static_cast<uint64_t>(config.seed));
  use_kernels(*model.module, kernels_of(config));
  return model;
}

}  // namespace batchplus
