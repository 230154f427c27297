#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace batchplus {

/// A row of the table of options.
struct ConfigField {
  enum class Kind { kText, kInteger, kNumber };
  /// What a field is about; `measure` takes those of the data, the network and the metrics.
  enum class Topic { kData, kNetwork, kTraining, kMetrics };

  /// As a TOML key: `inner_batch`. The option is --inner-batch.
  std::string key;
  std::string help;
  Kind kind = Kind::kText;
  /// Parses and checks; `where` names the option or the file's line in an Error.
  std::function<void(RunConfig&, const std::string& text, const std::string& where)> set;
  /// The value as text; empty when it is not set.
  std::function<std::string(const RunConfig&)> get;
  Topic topic = Topic::kTraining;
  /// Whether the numbers of a run depend on it; where things are and how often they are saved do not matter.
  bool decides_result = true;
  /// What runs had before there was the field, when that is not the default; else empty.
  std::string value_before = {};

  /// The option of the command line, with its dashes.
  std::string option() const;
};

const std::vector<ConfigField>& config_fields();

/// The option of a key: --inner-batch of inner_batch.
std::string option_of(const std::string& key);

/// What the text of a run directory means where it lacks keys: they are younger than the run.
RunConfig defaults_of_older_runs();

}  // namespace batchplus
