#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <set>

#include "commands/commands.h"
#include "commands/environment.h"
#include "config/config_toml.h"
#include "metrics/registry.h"
#include "run/measurement.h"
#include "run/settled_values.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/standard_streams.h"
#include "util/text.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;

/// Options without which nobody knows how the weights of a bare file are trained.
std::vector<std::string> unknown_training(const MeasureCommand& command) {
  std::vector<std::string> unknown;
  if (!command.run.empty()) return unknown;
  for (const char* key : {"method", "lr", "inner_batch"}) {
    if (!command.overrides.has(key)) unknown.push_back(option_of(key));
  }
  return unknown;
}

/// The config of the run, or the defaults, with the options on top.
RunConfig config_of(const MeasureCommand& command) {
  RunConfig config;
  if (!command.run.empty()) {
    const RunLayout layout{command.run};
    const RunConfig run = parse_run_config(read_config(layout), layout.config().string());
    config = run;
    command.overrides.apply(config);
    for (const std::string& note : note_settled_values(run, config, command.overrides.keys()))
      tell("note: {}\n", note);
    return config;
  }
  command.overrides.require_model_and_dataset(", or a run directory instead of --weights");
  command.overrides.apply(config);
  return config;
}

fs::path weights_of(const MeasureCommand& command) {
  if (!command.weights.empty()) return command.weights;
  if (!command.run.empty()) {
    const RunLayout layout{command.run};
    // A run that is being extended still has those of its shorter self.
    const std::string status = read_status(layout).value("status", "unknown");
    if (status != "done" || !fs::exists(layout.weights())) {
      std::string hint = "measure a run that is done, or name a file by --weights";
      for (const fs::path& checkpoint : {layout.previous_checkpoint(), layout.checkpoint()}) {
        if (fs::exists(checkpoint))
          hint = fmt::format("measure a run that is done, or its last state by --weights {}",
                             checkpoint.string());
      }
      if (status == "done") {
        hint = fs::exists(layout.checkpoint())
                   ? fmt::format("'batchplus train --resume --out {}' makes them again from its checkpoint",
                                 command.run)
                   : "they are lost, and so is the checkpoint: train it again in another directory";
      }
      throw Error("the run has no final weights",
                  {layout.weights().string(), fmt::format("the run is {}", status), hint});
    }
    return layout.weights();
  }
  throw Error("nothing to measure", {"measure", "", "name a run directory, or a file by --weights"});
}

std::string describe_detail(const Quantity::Detail& detail) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, double>)
          return std::isnan(value) ? "unknown" : fmt::format("{:.5g}", value);
        if constexpr (std::is_same_v<Value, bool>) return value ? "yes" : "no";
        if constexpr (std::is_same_v<Value, int64_t>) return format_count(value);
        if constexpr (std::is_same_v<Value, std::vector<double>>)
          return fmt::format("{:.5g}", fmt::join(value, " "));
        if constexpr (std::is_same_v<Value, std::string>) return value;
      },
      detail);
}

/// " +- 0.1"; a single draw says nothing of its spread, and draws that are not finite have none.
std::string describe_error(const Quantity& quantity) {
  const double error = *quantity.standard_error;
  if (!std::isfinite(quantity.value)) return " (not finite)";
  return std::isnan(error) ? " (one draw: no standard error)" : fmt::format(" +- {:.2g}", error);
}

/// `statistics`: of BatchNorm, as in the config.
void print_result(const MeasureResult& result, bool is_per_layer, const std::string& statistics) {
  for (const Quantity& quantity : result.quantities) {
    std::string line = fmt::format("{:<28}{:>12.6g}", quantity.name, quantity.value);
    if (quantity.standard_error) line += describe_error(quantity);
    fmt::print("{}\n", line);
    std::vector<std::string> details;
    std::string check;
    for (const auto& [key, detail] : quantity.details) {
      if (key == "chain") {
        check = describe_detail(detail);
      } else if (key == "batchnorm") {
        details.push_back(describe_statistics(describe_detail(detail)));
      } else {
        details.push_back(fmt::format("{} {}", key, describe_detail(detail)));
      }
    }
    fmt::print("    {}\n", join(details, ", "));
    if (!check.empty()) fmt::print("    check: {}\n", check);
  }
  if (is_per_layer) {
    fmt::print("E_i||grad f_i||^2 of each layer ({}):\n", describe_statistics(statistics));
    for (const auto& [name, mean] : result.layers) fmt::print("    {:<24}{:>12.6g}\n", name, mean);
  }
  for (const std::string& note : result.notes) fmt::print("note: {}\n", note);
}

}  // namespace

int run_measure(const MeasureCommand& command, const GlobalOptions& options) {
  const fs::path weights = weights_of(command);
  const fs::path run = command.weights.empty() ? command.run : "";
  const RunConfig config = config_of(command);
  const auto asked_rate = command.overrides.has("lr") ? std::optional(config.lr) : std::nullopt;
  const MeasureResult result = run_measurement(config, {.quantities = command.quantities,
                                                        .weights = weights,
                                                        .run = run,
                                                        .config_run = command.run,
                                                        .device = device_to_compute_on(options),
                                                        .learning_rate = asked_rate,
                                                        .given_keys = command.overrides.keys(),
                                                        .unknown_training = unknown_training(command),
                                                        .out = command.out,
                                                        .is_quiet = options.is_quiet});
  if (options.is_json) {
    Json json = result.json;
    if (command.is_per_layer) {
      for (const auto& [name, mean] : result.layers) json["layers"][name] = number_or_null(mean);
    }
    fmt::print("{}\n", json.dump());
  } else {
    print_result(result, command.is_per_layer, config.metrics_batchnorm);
  }
  return 0;
}

}  // namespace batchplus
