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
  /// Names other keys in braces.
  std::string help;
  Kind kind = Kind::kText;
  /// Parses and checks; `where` names the key or the file's line in an Error.
  std::function<void(RunConfig&, const std::string& text, const std::string& where)> set;
  /// The value as text; empty when it is not set.
  std::function<std::string(const RunConfig&)> get;
  Topic topic = Topic::kTraining;
  /// Whether the numbers of a run depend on it; where things are and how often they are saved do not matter.
  bool decides_result = true;
  /// Whether the command line offers it.
  bool is_option = true;
  /// The value that is left out of a run's id, because all runs had it before there was the field; empty:
  /// none.
  std::string left_out_of_id = {};
  /// The words that it takes; empty: other text too.
  std::vector<std::string> choices = {};
};

const std::vector<ConfigField>& config_fields();

/// "did you mean 'lr'?": what to say of a key that is none of `keys`; knows what others call ours.
std::string suggest_key(const std::string& name, const std::vector<std::string>& keys);

/// What the text of a run directory means where it lacks keys: they are younger than the run.
RunConfig defaults_of_older_runs();

}  // namespace batchplus
