#include "cli/config_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {

std::string option_of(const std::string& key) {
  std::string name = "--" + key;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool ConfigOverrides::has(const std::string& key) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const auto& value) { return value.first->key == key; });
}

bool ConfigOverrides::describe_a_run() const {
  return std::any_of(values_.begin(), values_.end(),
                     [](const auto& value) { return value.first->decides_result; });
}

std::vector<std::string> ConfigOverrides::keys() const {
  std::vector<std::string> keys;
  for (const auto& [field, text] : values_) keys.push_back(field->key);
  return keys;
}

void ConfigOverrides::require_model_and_dataset(const std::string& alternative) const {
  for (const char* needed : {"model", "dataset"}) {
    if (has(needed)) continue;
    throw Error("a weight file does not say what it is for",
                {option_of(needed), "", fmt::format("give --model and --dataset{}", alternative)});
  }
}

void ConfigOverrides::apply(RunConfig& config) const {
  for (const auto& [field, text] : values_) field->set(config, text, option_of(field->key));
}

bool is_for_training_alone(const ConfigField& field) {
  static const std::set<std::string> kKeys = {"augment", "cutout", "mixup", "dropout", "init"};
  return kKeys.contains(field.key);
}

void add_config_options(CLI::App& command, ConfigOverrides& overrides,
                        const std::function<bool(const ConfigField&)>& is_chosen) {
  const RunConfig defaults;
  for (const ConfigField& field : config_fields()) {
    if (!field.is_option || !is_chosen(field)) continue;
    const std::string value = field.get(defaults);
    const std::string about = name_keys(field.help, option_of);
    const std::string help = value.empty() ? about : fmt::format("{} [{}]", about, value);
    command.add_option_function<std::string>(
        option_of(field.key), [&overrides, &field](const std::string& text) { overrides.add(field, text); },
        help);
  }
}

}  // namespace batchplus
