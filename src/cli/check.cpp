#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>

#include "cli/command.h"
#include "config/config_toml.h"
#include "config/sweep_file.h"
#include "report/arrange.h"
#include "store/check_run.h"
#include "store/sweep_directory.h"
#include "util/error.h"
#include "util/json.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

struct CheckCommand {
  std::vector<std::string> paths;
};

/// What was checked, and what is wrong with it.
struct CheckedPath {
  fs::path path;
  /// "done", "running", ...; of a sweep's description "sweep".
  std::string status;
  std::vector<std::string> problems;
};

CheckedPath check_description(const SweepDirectory& sweep) {
  CheckedPath checked{sweep.description(), "sweep", {}};
  try {
    read_sweep_file(sweep.description());
  } catch (const Error& problem) {
    checked.problems.push_back(problem.summary());
  }
  return checked;
}

/// Finds runs that are not where they belong. Reads the description of each sweep once.
class Places {
 public:
  /// What is wrong with the place of a run: a sweep has another one there.
  std::vector<std::string> find_problems(const fs::path& run) {
    const auto sweep = SweepDirectory::holding(run);
    if (!sweep) return {};
    try {
      const auto [file, is_new] = sweeps_.try_emplace(sweep->root);
      if (is_new) file->second = read_sweep_file(sweep->description());
      const SweepFile::Run* expected = find_run(file->second, fs::weakly_canonical(run).filename());
      if (expected == nullptr) return {};
      const RunLayout layout{run};
      const RunConfig config = parse_run_config(read_config(layout), layout.config().string());
      const std::string differences = describe_differences(expected->config, config);
      if (!differences.empty()) return {fmt::format("not the run that the sweep has here: {}", differences)};
    } catch (const Error&) {
      // What cannot be read is named as damaged.
    }
    return {};
  }

 private:
  std::map<fs::path, SweepFile> sweeps_;
};

/// The runs of these directories, and of sweeps what says which runs they have.
std::vector<CheckedPath> check_paths(const CheckCommand& command) {
  std::vector<CheckedPath> all;
  Places places;
  std::set<fs::path> described;
  const auto describe_once = [&](const SweepDirectory& sweep) {
    if (described.insert(fs::weakly_canonical(sweep.root)).second) all.push_back(check_description(sweep));
  };
  for (const fs::path path : command.paths) {
    const SweepDirectory sweep{path};
    if (fs::exists(sweep.description())) describe_once(sweep);
    std::vector<fs::path> runs;
    try {
      runs = find_runs_below(path);
    } catch (const Error& problem) {
      // The others are checked all the same.
      all.push_back({path, "unknown", {problem.summary()}});
    }
    for (const fs::path& run : runs) {
      if (const auto holding = SweepDirectory::holding(run)) describe_once(*holding);
      RunCheck checked = check_run(RunLayout{run});
      for (std::string& problem : places.find_problems(run)) checked.problems.push_back(std::move(problem));
      all.push_back({run, checked.status, std::move(checked.problems)});
    }
  }
  return all;
}

int run_check(const CheckCommand& command, const GlobalOptions& options) {
  Json list = Json::array();
  size_t damaged = 0;
  for (const auto& [path, status, problems] : check_paths(command)) {
    const bool is_whole = problems.empty();
    if (!is_whole) ++damaged;
    list.push_back({{"path", path.string()}, {"status", status}, {"ok", is_whole}, {"problems", problems}});
    if (options.is_json || (options.is_quiet && is_whole)) continue;
    const std::string why = is_whole ? "" : ": " + join(problems, "; ");
    fmt::print("{:<8} {:<12} {}{}\n", is_whole ? "ok" : "damaged", status, path.string(), why);
  }
  if (options.is_json) fmt::print("{}\n", list.dump());
  return damaged == 0 ? 0 : Error::kBadInput;
}

}  // namespace

void add_check_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* check =
      app.add_subcommand("check", "whether the files of runs and sweeps are as they were written");
  add_global_options(*check, options);
  auto command = std::make_shared<CheckCommand>();
  check->add_option("paths", command->paths, "run directories, sweeps, or directories that hold them")
      ->required();
  check->callback([command, &options, &action] {
    action = [command, &options] { return run_check(*command, options); };
  });
}

}  // namespace batchplus
