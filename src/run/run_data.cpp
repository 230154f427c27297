#include "run/run_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config_toml.h"
#include "config/input_choice.h"
#include "datasets/find_files.h"
#include "networks/weight_file.h"
#include "util/error.h"
#include "util/hash.h"

namespace batchplus {

Dataset load_dataset(const RunConfig& config, const DatasetInfo& info) {
  // What is made in memory, or lies in a folder of its own, needs no data directory.
  const bool has_files = !info.files.empty();
  return load_dataset(info, has_files || !config.data_dir.empty() ? data_directory(config.data_dir) : "");
}

namespace {

std::string digest(const ImageView& view) {
  Hash hash;
  constexpr int64_t kAtOnce = 1000;
  const torch::Tensor all = torch::tensor(view.indices);
  for (int64_t begin = 0; begin < view.size(); begin += kAtOnce) {
    const torch::Tensor indices = all.slice(0, begin, begin + kAtOnce);
    for (const torch::Tensor& whole : {view.set.labels, view.set.images}) {
      const torch::Tensor part = whole.index_select(0, indices).contiguous();
      hash.add(part.data_ptr(), part.nbytes());
    }
  }
  return hash.hex();
}

}  // namespace

Json digest_inputs(const DatasetViews& views, const std::string& init) {
  Json inputs = {{"train", digest(views.train)}, {"test", digest(views.test)}};
  if (views.validation.size() > 0) inputs["validation"] = digest(views.validation);
  if (!init.empty()) inputs["init"] = weights_sha256(read_weights(init));
  return inputs;
}

void require_same_inputs(const Json& recorded, const Json& now, const RunConfig& config,
                         const std::string& hint) {
  for (const auto& [key, digest] : now.items()) {
    if (!recorded.contains(key) || recorded[key] == digest) continue;
    if (key == "init") {
      throw Error("the weights that the run began with have changed",
                  {config.init, "SHA-256 " + digest.get<std::string>(), hint});
    }
    throw Error(fmt::format("the {} is not what the run began with", describe_input(key)),
                {config.dataset, "SHA-256 " + digest.get<std::string>(), hint});
  }
}

Json recorded_inputs(const RunLayout& layout) {
  try {
    return inputs_of(read_provenance(layout));
  } catch (const Error&) {
    return Json::object();
  }
}

std::string note_on_normalization(const std::filesystem::path& weights, const DataPlan& data) {
  const RunLayout layout{weights.parent_path()};
  if (!layout.holds_run()) return "";
  try {
    const RunConfig run = parse_run_config(read_config(layout), layout.config().string());
    const Normalization theirs = parse_normalization(run.normalize, data.dataset);
    const Normalization& ours = data.normalization;
    if (theirs.mean == ours.mean && theirs.std == ours.std) return "";
    return fmt::format("the run that these weights are of has normalize = {}, and here it is {:g}/{:g}",
                       run.normalize, fmt::join(ours.mean, ","), fmt::join(ours.std, ","));
  } catch (const Error&) {
    return "";  // what is wrong with the run, or that its images have other channels, is not asked here
  }
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

}  // namespace batchplus
