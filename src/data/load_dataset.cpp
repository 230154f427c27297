#include "data/load_dataset.h"

#include <fmt/format.h>

#include "data/load_pictures.h"
#include "data/synthetic.h"
#include "datasets/find_files.h"
#include "datasets/read_samples.h"
#include "datasets/verify_files.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

Dataset load_samples(const DatasetInfo& info, const DatasetLocation& location) {
  if (!info.read) return location.path.empty() ? make_synthetic() : load_pictures(location.path);
  LabelledImages samples = read_samples(info, location);
  Dataset dataset;
  dataset.train = to_image_set(std::move(samples.train));
  dataset.test = to_image_set(std::move(samples.test));
  dataset.class_names = std::move(samples.class_names);
  return dataset;
}

}  // namespace

Dataset load_dataset(const DatasetInfo& info, const fs::path& directory) {
  const auto location = locate(info, directory);
  if (!location) {
    throw Error(fmt::format("dataset {} is not there, or not complete", info.name),
                {(directory / info.folder).string(), fmt::format("needs {}", join(info.files, ", ")),
                 info.how_to_get});
  }
  const bool is_made = info.files.empty() && info.system_folder.empty();
  std::string verified = is_made ? "made in memory" : to_string(verify_files(info, *location));
  Dataset dataset = load_samples(info, *location);
  dataset.name = info.name;
  dataset.normalization =
      info.normalization.mean.empty() ? measure_normalization(dataset.train) : info.normalization;
  dataset.verified = std::move(verified);
  return dataset;
}

DatasetInfo describe(DatasetInfo info, const Dataset& dataset) {
  info.train_samples = dataset.train.size();
  info.normalization = dataset.normalization;
  return info;
}

}  // namespace batchplus
