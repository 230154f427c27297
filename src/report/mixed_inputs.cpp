#include "report/mixed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/config_toml.h"
#include "config/input_choice.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// What an input is called, and the name under which runs expect the same one.
struct InputName {
  std::string what;
  std::string name;
  /// What the config says of it.
  std::string choice;

  auto operator<=>(const InputName&) const = default;
};

InputName name_of(const std::string& key, const RunConfig& config) {
  return {describe_input(key), key == "init" ? config.init : config.dataset, input_choice(key, config)};
}

/// The directories of runs by the digest of what they were given, the first ones first.
using RunsByDigest = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_run(RunsByDigest& runs, const std::string& digest, const std::string& directory) {
  auto row = std::find_if(runs.begin(), runs.end(), [&](const auto& entry) { return entry.first == digest; });
  if (row == runs.end()) row = runs.insert(runs.end(), {digest, {}});
  auto& directories = row->second;
  // Cells may share a run.
  if (std::find(directories.begin(), directories.end(), directory) == directories.end())
    directories.push_back(directory);
}

using GivenInputs = std::map<InputName, RunsByDigest>;

/// Adds what a run was given.
void add_inputs(GivenInputs& given, const ComparedRun& run) {
  const Json inputs = run.record ? inputs_of(run.record->provenance) : Json::object();
  if (inputs.empty()) return;
  try {
    const RunConfig config = parse_run_config(run.record->config_toml, run.directory.string());
    for (const auto& [key, digest] : inputs.items())
      add_run(given[name_of(key, config)], digest.dump(), run.directory.string());
  } catch (const Error&) {
    // A config with keys that this program does not know can be shown, and not compared.
  }
}

void leave_out(Comparison& comparison, const std::string& directory, const std::string& why) {
  for (ComparedCell& cell : comparison.cells) {
    for (ComparedRun& run : cell.runs) {
      if (run.directory.string() != directory) continue;
      run.record.reset();
      run.why_left_out = why;
    }
  }
}

/// The samples that a config tests on, wherever they come from.
std::string tested_choice(const RunConfig& config) {
  return fmt::format("{} {} {}", config.dataset, config.split_seed, config.test_limit);
}

}  // namespace

std::vector<std::string> find_mixed_inputs(const std::vector<RunInputs>& runs) {
  std::vector<std::string> mixed;
  for (const char* key : {"test", "train", "validation", "init"}) {
    std::map<std::string, std::set<std::string>> given;
    for (const RunInputs& run : runs) {
      if (!run.digests.contains(key)) continue;
      const std::string choice =
          std::string(key) == "test" ? tested_choice(run.config) : input_choice(key, run.config);
      given[choice].insert(run.digests[key].dump());
    }
    if (std::any_of(given.begin(), given.end(), [](const auto& entry) { return entry.second.size() > 1; }))
      mixed.emplace_back(key);
  }
  return mixed;
}

void leave_out_mixed_inputs(Comparison& comparison) {
  for (const auto& row : comparison.rows()) {
    GivenInputs given;
    for (const ComparedCell& cell : comparison.cells) {
      if (!std::equal(row.begin(), row.end(), cell.labels.begin())) continue;
      for (const ComparedRun& run : cell.runs) add_inputs(given, run);
    }
    for (const auto& [input, runs] : given) {
      const auto most = std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      for (const auto& [digest, directories] : runs) {
        if (digest == most->first) continue;
        for (const std::string& directory : directories) {
          leave_out(comparison, directory, "other " + input.what);
          comparison.notes.push_back(
              fmt::format("left out, because it had other {} ({}) than {}, as most of its row: {}",
                          input.what, input.name, most->second.front(), directory));
        }
      }
    }
  }
}

void note_mixed_inputs(Comparison& comparison) {
  GivenInputs given;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) add_inputs(given, run);
  }
  for (const auto& [input, runs] : given) {
    for (size_t i = 1; i < runs.size(); ++i) {
      comparison.notes.push_back(fmt::format("not comparable: other {} ({}) than {} had: {}", input.what,
                                             input.name, runs.front().second.front(),
                                             join(runs[i].second, ", ")));
    }
  }
}

}  // namespace batchplus
