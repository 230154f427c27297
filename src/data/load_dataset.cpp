#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "data/registry.h"
#include "formats/gzip.h"
#include "util/error.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

/// Whether the file, unpacked, has the digest.
bool has_digest(const fs::path& folder, const std::string& name, const std::string& digest) {
  const fs::path file = plain_or_gzip(folder, name);
  if (file.extension() != ".gz") return digest_like(file, digest) == digest;
  return sha256_hex(gunzip(read_file(file), file.string())) == digest;
}

bool is_complete(const DatasetInfo& info, const fs::path& folder) {
  return std::all_of(info.files.begin(), info.files.end(),
                     [&](const auto& name) { return fs::exists(plain_or_gzip(folder, name)); });
}

/// Who has a part of a dataset would get the results of another copy without knowing. A link that leads
/// nowhere is a part, too.
void require_no_part(const DatasetInfo& info, const fs::path& folder) {
  const auto is_named = [&](const std::string& name) {
    return fs::exists(fs::symlink_status(folder / name)) ||
           fs::exists(fs::symlink_status(folder / (name + ".gz")));
  };
  if (std::none_of(info.files.begin(), info.files.end(), is_named)) return;
  std::vector<std::string> missing = info.files;
  std::erase_if(missing, [&](const auto& name) { return fs::exists(plain_or_gzip(folder, name)); });
  throw Error(
      fmt::format("the copy of {} is not complete", info.name),
      {folder.string(), fmt::format("{} {} missing", join(missing, ", "), missing.size() == 1 ? "is" : "are"),
       "add what is missing, or move the other files of the dataset away"});
}

/// Files of one dataset under the name of another, which has files of the same names.
void require_no_other(const DatasetInfo& info, const fs::path& folder) {
  for (const DatasetInfo& other : datasets()) {
    if (other.name == info.name) continue;
    for (const std::string& name : info.files) {
      const auto known = other.sources.checksums.find(name);
      if (known == other.sources.checksums.end() || !has_digest(folder, name, known->second)) continue;
      throw Error(fmt::format("the file is that of {}, not of {}", other.name, info.name),
                  {plain_or_gzip(folder, name).string(), known->second,
                   fmt::format("name {} as the dataset, or another data directory", other.name)});
    }
  }
}

void require_shape(const DatasetInfo& info, const ImageSet& set, const std::string& where) {
  const auto shape = set.images.sizes();
  if (shape[1] == info.channels && shape[2] == info.side && shape[3] == info.side) return;
  throw Error("the images have another size",
              {where, fmt::format("{} x {} x {}", shape[1], shape[2], shape[3]),
               fmt::format("{} has {} x {} x {}", info.name, info.channels, info.side, info.side)});
}

}  // namespace

fs::path data_directory(const std::string& given) {
  if (!given.empty()) {
    if (!fs::is_directory(given)) {
      throw Error("no such data directory", {"data_dir", given, "create it, or name another one"});
    }
    return given;
  }
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const auto data = environment("BATCHPLUS_DATA"); !data.empty()) return data;
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "batchplus";
  if (const auto home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "batchplus";
  throw Error(
      "nothing says where datasets are",
      {"data_dir", "$BATCHPLUS_DATA, $XDG_CACHE_HOME and $HOME are not set", "set one, or give {data_dir}"});
}

std::optional<DatasetLocation> locate(const DatasetInfo& info, const fs::path& directory) {
  if (info.files.empty()) return DatasetLocation{info.system_folder};
  const fs::path folder = directory / info.folder;
  if (is_complete(info, folder)) return DatasetLocation{folder};
  require_no_part(info, folder);
  if (is_complete(info, directory)) return DatasetLocation{directory};
  const fs::path archive = directory / info.sources.archive;
  const bool has_archive = !info.sources.archive.empty() && fs::exists(archive);
  const bool is_installed = !info.system_folder.empty() && is_complete(info, info.system_folder);
  if (!has_archive && !is_installed) return std::nullopt;
  // Other datasets have files of the same names, so a part here only stands in the way of another copy.
  require_no_part(info, directory);
  return has_archive ? DatasetLocation{archive, true} : DatasetLocation{info.system_folder};
}

std::string to_string(Verification verification) {
  switch (verification) {
    case Verification::kOfficial: return "official";
    case Verification::kAsFetched: return "as fetched";
    case Verification::kLayout: return "layout";
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

Verification verify_files(const DatasetInfo& info, const DatasetLocation& location) {
  if (info.files.empty()) return Verification::kLayout;
  if (location.is_archive) {
    const std::string& md5 = info.sources.official.front().md5;
    return digest_like(location.path, md5) == md5 ? Verification::kOfficial : Verification::kLayout;
  }
  const auto recorded = verify_recorded_checksums(location.path);
  const auto& known = info.sources.checksums;
  const bool is_official = std::all_of(info.files.begin(), info.files.end(), [&](const auto& name) {
    const auto entry = known.find(name);
    if (entry == known.end()) return false;
    // A file that has just been compared need not be read again.
    const bool is_compared = recorded && recorded->contains(name) && recorded->at(name) == entry->second;
    return is_compared || has_digest(location.path, name, entry->second);
  });
  if (is_official) return Verification::kOfficial;
  require_no_other(info, location.path);
  return recorded ? Verification::kAsFetched : Verification::kLayout;
}

Dataset load_dataset_at(const DatasetInfo& info, const DatasetLocation& location) {
  Dataset dataset = info.load(location);
  dataset.name = info.name;
  require_shape(info, dataset.train, location.path.string());
  require_shape(info, dataset.test, location.path.string());
  dataset.normalization =
      info.normalization.mean.empty() ? measure_normalization(dataset.train) : info.normalization;
  return dataset;
}

Dataset load_dataset(const DatasetInfo& info, const fs::path& directory) {
  const auto location = locate(info, directory);
  if (!location) {
    throw Error(fmt::format("dataset {} is not there, or not complete", info.name),
                {(directory / info.folder).string(), fmt::format("needs {}", join(info.files, ", ")),
                 info.how_to_get});
  }
  const bool is_made = info.files.empty() && info.system_folder.empty();
  std::string verified = is_made ? "made in memory" : to_string(verify_files(info, *location));
  Dataset dataset = load_dataset_at(info, *location);
  dataset.verified = std::move(verified);
  return dataset;
}

DatasetInfo describe(DatasetInfo info, const Dataset& dataset) {
  info.train_samples = dataset.train.size();
  info.normalization = dataset.normalization;
  return info;
}

Normalization parse_normalization(const std::string& text, const DatasetInfo& dataset) {
  const auto channels = static_cast<size_t>(dataset.channels);
  if (text == "auto") return dataset.normalization;
  if (text == "none") return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
  const std::string where = "normalize";
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
         fmt::format("{} has {} channels; standard deviations must be positive", dataset.name, channels)});
  }
  return normalization;
}

}  // namespace batchplus
