#include "run/run_data.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "util/hash.h"

namespace batchplus {

Dataset load_dataset(const RunConfig& config, const DatasetInfo& info) {
  // What is made in memory, or lies in a folder of its own, needs no data directory.
  const bool has_files = !info.files.empty();
  return load_dataset(info, has_files || !config.data_dir.empty() ? data_directory(config.data_dir) : "");
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
