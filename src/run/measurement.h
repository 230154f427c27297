#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "core/torch.h"
#include "metrics/quantity.h"
#include "util/json.h"

namespace batchplus {

/// How a measurement is carried out, as opposed to what it computes.
struct MeasureRequest {
  /// Groups of quantities.
  std::string quantities = "all";
  std::filesystem::path weights;
  /// The run that ended with these weights, as its status.json must confirm; empty: of no run.
  std::filesystem::path run;
  /// The run whose config says what to measure on; empty: options alone do.
  std::filesystem::path config_run;
  torch::Device device = torch::kCPU;
  /// The learning rate that was asked for; unset: that of the run's last outer batch.
  std::optional<double> learning_rate = std::nullopt;
  /// Keys that were given by hand: an Error when one changes nothing.
  std::vector<std::string> given_keys = {};
  /// Options that would say how a bare weight file is trained and were not given.
  std::vector<std::string> unknown_training = {};
  /// Where to write measure.json, sample_norms.csv and layer_norms.csv; empty: nowhere.
  std::filesystem::path out;
  bool is_quiet = false;
};

struct MeasureResult {
  std::vector<Quantity> quantities;
  std::vector<std::string> notes;
  /// E_i||grad f_i||^2 of each layer, where the gradient norms were measured.
  std::vector<std::pair<std::string, double>> layers;
  /// The keys that docs/metrics.md promises.
  Json json;
};

/// Measures a weight file of the config's network on the config's data.
MeasureResult run_measurement(const RunConfig& config, const MeasureRequest& request);

}  // namespace batchplus
