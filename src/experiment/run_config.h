#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchplus {

/// Everything that defines one training run. Each member is an option of `train` and a key of its TOML file;
/// config_fields() holds names, help and checks.
struct RunConfig {
  std::string dataset = "synthetic";
  std::string data_dir;
  int64_t train_limit = 0;
  int64_t test_limit = 0;
  int64_t validation = 0;
  int64_t split_seed = 0;
  std::string augment = "auto";
  std::string normalize = "auto";
  std::string sampling = "epoch";

  std::string model = "mlp";
  std::optional<double> dropout;
  std::string init;
  std::string kernels = "fast";

  std::string method = "bp-svrg";
  std::string coefficient;
  std::string update_rule;
  double momentum = 0.9;
  double radius = 0.05;
  double lr = 0.1;
  int64_t inner_batch = 128;
  std::string outer_batch;
  std::optional<int64_t> epochs;
  std::optional<double> budget_epochs;
  std::string schedule = "constant";
  double weight_decay = 0;
  int64_t warmup_epochs = 0;
  std::string warmup_method = "sgd";
  std::optional<double> warmup_lr;
  std::string snapshot_gradients = "auto";
  std::string snapshot_memory = "2G";

  int64_t eval_every = 1;
  std::string metrics;
  int64_t metrics_every = 1;
  std::optional<int64_t> metrics_samples;
  std::string metrics_memory = "1G";
  std::string metrics_batchnorm = "eval";
  int64_t hessian_eigenvalues = 1;
  int64_t hessian_products = 30;
  int64_t trace_draws = 10;
  double sharpness_sigma = 1e-4;
  std::optional<double> sharpness_eta;
  int64_t sharpness_draws = 10;
  std::optional<double> pl_constant;
  int64_t seed = 1;
  std::string checkpoint_every = "1,10m";
  std::string out;
  std::string save_weights;
};

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

/// What the text of a run directory means where it lacks keys: they are younger than the run.
RunConfig defaults_of_older_runs();

/// Sets the fields that TOML text gives. Unknown keys and wrong types are Errors with line and column;
/// `where` names the text in them.
void parse_config(RunConfig& config, std::string_view text, const std::string& where);

/// The same for a file.
void read_config_file(RunConfig& config, const std::filesystem::path& path);

/// The complete configuration as TOML.
std::string to_toml(const RunConfig& config);

/// Only what decides the result: equal texts mean equal runs. A field at its value_before is left out: the
/// text, and the id that is made from it, are what they were before there was the field.
std::string result_toml(const RunConfig& config);

}  // namespace batchplus
