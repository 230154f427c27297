#include "cli/command_tree.h"

#include <algorithm>
#include <map>

#include "cli/config_options.h"
#include "cli/find_spec.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Words behind an option or argument, by its name.
using Values = std::map<std::string, std::vector<std::string>>;

Values values_of_names(const Catalog& catalog) {
  Values values;
  for (const ConfigField& field : config_fields()) values[option_of(field.key)] = field.choices;
  std::vector<std::string> methods;
  for (const Catalog::Method& method : catalog.methods) methods.push_back(method.name);
  std::vector<std::string> groups = {"all"};
  std::vector<std::string> groups_of_weights = {"all"};
  for (const Catalog::MetricGroup& group : catalog.metric_groups) {
    groups.push_back(group.name);
    if (group.is_of_weights) groups_of_weights.push_back(group.name);
  }
  values["--method"] = values["--warmup-method"] = methods;
  values["--model"] = catalog.networks;
  values["--dataset"] = catalog.datasets;
  values["--metrics"] = groups;
  values["--quantities"] = groups_of_weights;
  values["--device"] = {"cpu", "cuda"};
  values["--group"] = {"mpi", "slurm"};
  values["--reduction"] = {"exact", "fast"};
  values["--batch-norm"] = {"local", "synchronized"};
  values["--scale"] = {"laptop", "paper", "smoke", "workstation"};
  values["spec"] = values["spec-or-runs"] = spec_names();
  values["data NAME"] = catalog.datasets;
  values["models NAME"] = catalog.networks;
  return values;
}

/// What a check of CLI11 allows: it says "{a,b}".
std::vector<std::string> checked_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split(type.substr(begin + 1, end - begin - 1), ',');
}

OptionEntry describe(const CLI::Option& option, const std::vector<std::string>& words, const Values& values) {
  OptionEntry entry;
  entry.is_argument = option.get_lnames().empty() && option.get_snames().empty();
  entry.name = entry.is_argument ? option.get_name() : "--" + option.get_lnames().front();
  entry.help = option.get_description();
  entry.takes_value = option.get_items_expected_max() > 0;
  entry.values = checked_values(option);
  for (const std::string& name : {entry.name, words.empty() ? "" : words.front() + " " + entry.name}) {
    if (const auto found = values.find(name); entry.values.empty() && found != values.end())
      entry.values = found->second;
  }
  return entry;
}

CommandEntry describe(const CLI::App& app, std::vector<std::string> words, const Values& values) {
  CommandEntry entry{.words = std::move(words), .help = app.get_description(), .options = {}, .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    entry.options.push_back(describe(*option, entry.words, values));
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    std::vector<std::string> below = entry.words;
    below.push_back(command->get_name());
    entry.commands.push_back(describe(*command, std::move(below), values));
  }
  return entry;
}

}  // namespace

CommandEntry describe_commands(const CLI::App& app, const Catalog& catalog) {
  return describe(app, {}, values_of_names(catalog));
}

std::vector<const CommandEntry*> all_commands(const CommandEntry& command) {
  std::vector<const CommandEntry*> all = {&command};
  for (const CommandEntry& below : command.commands) {
    const auto more = all_commands(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace batchplus
