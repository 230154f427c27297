#include "data/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "data/checksums.h"
#include "data/cifar.h"
#include "data/idx.h"
#include "data/synthetic.h"
#include "util/error.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;

const std::vector<DatasetInfo>& datasets() {
  static const std::vector<DatasetInfo> table = {
      {
          .name = "synthetic",
          .description = "noisy moving patterns, made in memory",
          .classes = 10,
          .channels = 3,
          .side = 32,
          .normalization = {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
          .is_augmented_by_default = false,
          .folder = "",
          .system_folder = "",
          .files = {},
          .how_to_get = "",
          .load = [](const fs::path&) { return make_synthetic(); },
      },
      {
          .name = "fashion-mnist",
          .description = "Zalando's articles of clothing",
          .classes = 10,
          .channels = 1,
          .side = 28,
          .normalization = {{0.2860}, {0.3530}},
          .is_augmented_by_default = false,
          .folder = "fashion-mnist",
          .system_folder = "/usr/share/datasets/fashion-mnist",
          .files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                    "t10k-labels-idx1-ubyte"},
          .how_to_get = "install Debian's package dataset-fashion-mnist",
          .load = load_fashion_mnist,
      },
      {
          .name = "cifar10",
          .description = "small natural images (Krizhevsky 2009)",
          .classes = 10,
          .channels = 3,
          .side = 32,
          .normalization = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
          .is_augmented_by_default = true,
          .folder = "cifar-10-batches-bin",
          .system_folder = "",
          .files = cifar10_files(),
          .how_to_get = "run 'batchplus data fetch cifar10'",
          .load = load_cifar10,
      },
  };
  return table;
}

const DatasetInfo& find_dataset(const std::string& name) {
  return find_row(datasets(), name, "dataset", "--dataset");
}

fs::path data_directory(const std::string& given) {
  if (!given.empty()) {
    if (!fs::is_directory(given)) {
      throw Error("no such data directory", {"--data-dir", given, "create it, or name another one"});
    }
    return given;
  }
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const auto data = environment("BATCHPLUS_DATA"); !data.empty()) return data;
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "batchplus";
  return fs::path(environment("HOME")) / ".cache" / "batchplus";
}

std::optional<fs::path> locate(const DatasetInfo& info, const fs::path& directory) {
  if (info.files.empty()) return directory;
  for (const fs::path& folder : {directory / info.folder, directory, info.system_folder}) {
    const bool is_complete =
        !folder.empty() && std::all_of(info.files.begin(), info.files.end(),
                                       [&](const auto& file) { return fs::exists(idx_path(folder, file)); });
    if (is_complete) return folder;
  }
  return std::nullopt;
}

Dataset load_dataset(const DatasetInfo& info, const fs::path& directory) {
  const auto folder = locate(info, directory);
  if (!folder) {
    throw Error(fmt::format("dataset {} is not there, or not complete", info.name),
                {(directory / info.folder).string(), fmt::format("needs {}", join(info.files, ", ")),
                 info.how_to_get});
  }
  if (!info.files.empty()) verify_checksums(*folder);
  return info.load(*folder);
}

Normalization parse_normalization(const std::string& text, const DatasetInfo& info) {
  const auto channels = static_cast<size_t>(info.channels);
  if (text == "auto") return info.normalization;
  if (text == "none") return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
  const std::string where = "--normalize";
  Normalization normalization;
  if (text == "imagenet") {
    normalization = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  } else {
    const auto halves = split(text, '/');
    if (halves.size() != 2) {
      throw Error("not a normalisation",
                  {where, text, "auto, none, imagenet, or means/stds like 0.5,0.5,0.5/0.2,0.2,0.2"});
    }
    for (const auto& number : split(halves[0], ','))
      normalization.mean.push_back(parse_number(number, where));
    for (const auto& number : split(halves[1], ',')) normalization.std.push_back(parse_number(number, where));
  }
  const bool is_usable = normalization.mean.size() == channels && normalization.std.size() == channels &&
                         std::all_of(normalization.std.begin(), normalization.std.end(),
                                     [](double std) { return std > 0 && std < 1e30; });
  if (!is_usable) {
    throw Error(
        "normalisation does not fit the dataset",
        {where, text,
         fmt::format("{} has {} channels; standard deviations must be positive", info.name, channels)});
  }
  return normalization;
}

}  // namespace batchplus
