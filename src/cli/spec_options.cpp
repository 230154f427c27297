#include "cli/spec_options.h"

#include <fmt/format.h>

#include "util/error.h"

namespace batchplus {
namespace fs = std::filesystem;

void add_spec_options(CLI::App& command, SpecOptions& options) {
  command.add_option("--scale", options.scale,
                     "how much of the spec: paper (the default), workstation, laptop or smoke");
  command.add_option("--set", options.settings, "KEY=VALUE for every run, whatever the spec says")
      ->allow_extra_args(false);
}

std::vector<std::string> spec_arguments(const SpecOptions& options) {
  std::vector<std::string> arguments = {options.spec};
  if (!options.scale.empty()) arguments.insert(arguments.end(), {"--scale", options.scale});
  for (const std::string& setting : options.settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  return arguments;
}

std::vector<SpecRun> Sweep::runs() const {
  std::vector<SpecRun> all;
  for (const PlannedRun& row : planned) all.push_back(row.run);
  return all;
}

Sweep open_sweep(const SpecOptions& options) {
  if (options.spec.empty()) throw Error("no spec was named", {"sweep", "", "like specs/paper/table3.toml"});
  Sweep sweep{.spec = read_spec(options.spec), .scale = options.scale, .planned = {}, .directory = {}};
  if (sweep.scale.empty())
    sweep.scale = sweep.spec.scales.size() == 1 ? sweep.spec.scales.front().name : "paper";
  for (const std::string& setting : options.settings) set_everywhere(sweep.spec, setting);
  sweep.planned = plan_sweep(sweep.spec, sweep.scale);
  sweep.directory.root = options.directory.empty()
                             ? fs::path("sweeps") / fmt::format("{}-{}", sweep.spec.name, sweep.scale)
                             : fs::path(options.directory);
  return sweep;
}

}  // namespace batchplus
