#include "report/mixed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

}  // namespace

void note_mixed_inputs(Comparison& comparison) {
  std::map<InputName, RunsByDigest> given;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      const Json inputs = run.record ? inputs_of(run.record->provenance) : Json::object();
      if (inputs.empty()) continue;
      try {
        const RunConfig config = parse_run_config(run.record->config_toml, run.directory.string());
        for (const auto& [key, digest] : inputs.items())
          add_run(given[name_of(key, config)], digest.dump(), run.directory.string());
      } catch (const Error&) {
        // A config with keys that this program does not know can be shown, and not compared.
      }
    }
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
