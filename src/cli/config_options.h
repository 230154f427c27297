#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/config_fields.h"

namespace batchplus {

/// Fields of a config that the command line sets, in the order given.
class ConfigOverrides {
 public:
  void add(const ConfigField& field, const std::string& text) { values_.emplace_back(&field, text); }
  bool has(const std::string& key) const;
  /// Whether one of them says what to train, and not only where things are.
  bool describe_a_run() const;
  /// The keys of those that were given.
  std::vector<std::string> keys() const;
  /// An Error unless both were given: a weight file does not say what it is for. `alternative` ends the hint.
  void require_model_and_dataset(const std::string& alternative) const;
  void apply(RunConfig& config) const;

 private:
  std::vector<std::pair<const ConfigField*, std::string>> values_;
};

/// The option of a key: --inner-batch of inner_batch.
std::string option_of(const std::string& key);

/// Whether a field of the data or the network changes nothing for weights that are given.
bool is_for_training_alone(const ConfigField& field);

/// Adds the chosen fields of the config as options of a command.
void add_config_options(CLI::App& command, ConfigOverrides& overrides,
                        const std::function<bool(const ConfigField&)>& is_chosen);

}  // namespace batchplus
