#include "cli/spec_options.h"

namespace batchplus {

void add_spec_options(CLI::App& command, SweepRequest& request) {
  command.add_option(
      "--scale", request.scale,
      "how much of the spec: paper, workstation, laptop or smoke (default: the spec's only scale, or paper)");
  command
      .add_option("--set", request.settings,
                  "KEY=VALUE for every run, whatever the spec says; repeats=N: so many seeds")
      ->allow_extra_args(false);
}

std::vector<std::string> spec_arguments(const SweepRequest& request) {
  std::vector<std::string> arguments = {request.spec};
  if (!request.scale.empty()) arguments.insert(arguments.end(), {"--scale", request.scale});
  for (const std::string& setting : request.settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  return arguments;
}

}  // namespace batchplus
