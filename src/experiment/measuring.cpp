#include "experiment/measuring.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "experiment/run_data.h"
#include "networks/weight_file.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace {

Json detail_json(const Quantity::Detail& detail) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, double>) return number_or_null(value);
        if constexpr (std::is_same_v<Value, std::vector<double>>) {
          Json list = Json::array();
          for (const double number : value) list.push_back(number_or_null(number));
          return list;
        }
        return value;
      },
      detail);
}

/// A line for each sample, in the order in which they were measured.
std::string sample_table(const SampleGradientNorms& norms) {
  std::string csv = "sample,loss,squared_gradient_norm\n";
  const double* losses = norms.losses.data_ptr<double>();
  const double* squared = norms.squared_norms.data_ptr<double>();
  for (int64_t i = 0; i < norms.losses.numel(); ++i) {
    csv += fmt::format("{},{:.9g},{:.9g}\n", i, losses[i], squared[i]);
  }
  return csv;
}

std::vector<std::pair<std::string, double>> layer_means(const SampleGradientNorms& norms) {
  std::vector<std::pair<std::string, double>> layers;
  const torch::Tensor means = norms.layer_squared_norms.mean(1);
  for (size_t i = 0; i < norms.layer_names.size(); ++i) {
    layers.emplace_back(norms.layer_names[i], means[static_cast<int64_t>(i)].item<double>());
  }
  return layers;
}

void write_files(const std::filesystem::path& folder, const MeasureResult& result,
                 const SampleGradientNorms* norms) {
  make_directories(folder);
  write_file_atomically(folder / "measure.json", result.json.dump(1) + "\n");
  if (norms == nullptr) return;
  write_file_atomically(folder / "sample_norms.csv", sample_table(*norms));
  std::string layers = "layer,mean_squared_gradient_norm\n";
  for (const auto& [name, mean] : result.layers) layers += fmt::format("{},{:.9g}\n", name, mean);
  write_file_atomically(folder / "layer_norms.csv", layers);
}

}  // namespace

Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

MeasureOptions measure_options(const RunConfig& config) {
  const bool has_batch_statistics = config.metrics_batchnorm == "batch";
  MeasureOptions options;
  options.samples = config.metrics_samples;
  options.is_sequential = config.sampling == "sequential";
  options.split_seed = static_cast<uint64_t>(config.split_seed);
  options.statistics = has_batch_statistics ? BatchNorm::Statistics::kBatch : BatchNorm::Statistics::kRunning;
  if (has_batch_statistics) options.chunk = config.inner_batch;
  options.memory_bytes = parse_bytes(config.metrics_memory, "--metrics-memory");
  options.eigenvalues = config.hessian_eigenvalues;
  options.max_products = config.hessian_products;
  options.trace_draws = config.trace_draws;
  options.sigma = config.sharpness_sigma;
  options.eta = config.sharpness_eta.value_or(config.lr);
  options.sharpness_draws = config.sharpness_draws;
  options.pl_constant = config.pl_constant;
  options.seed = static_cast<uint64_t>(config.seed);
  return options;
}

Json to_json(const std::vector<Quantity>& quantities) {
  Json json = Json::object();
  for (const Quantity& quantity : quantities) {
    Json row = {{"value", number_or_null(quantity.value)}};
    if (quantity.standard_error) row["standard_error"] = number_or_null(*quantity.standard_error);
    for (const auto& [key, detail] : quantity.details) row[key] = detail_json(detail);
    json[quantity.name] = row;
  }
  return json;
}

MeasureResult run_measurement(RunConfig config, const MeasureRequest& request) {
  const auto groups = parse_metric_groups(request.quantities, MetricUse::kMeasure, "--quantities");
  StateDictFile weights = read_weight_file(request.weights);
  if (!request.run.empty()) {
    require_checksum(read_status(RunLayout{request.run}), "weights_sha256",
                     weights_sha256(to_tensors(weights)), request.weights);
  }
  const RunData data = load_run_data(config);
  const Model model = build_run_network(config, data.dataset);
  load_weights(*model.module, std::move(weights), request.weights.string());
  model.module->to(request.device);
  FlatParameters parameters(*model.module);

  const Stopwatch stopwatch;
  Progress progress({.unit = "samples", .is_quiet = request.is_quiet});
  Measurer measurer(
      {model, parameters, data.views.train, data.views.test, data.normalization, request.device},
      measure_options(config),
      [&](double done, double total, const std::string& label) { progress.update(done, total, label); });
  MeasureResult result;
  for (const std::string& group : groups) {
    const Stopwatch group_stopwatch;
    for (Quantity& quantity : measure_groups(measurer, {group}))
      result.quantities.push_back(std::move(quantity));
    progress.print_line(fmt::format("{} measured, {}", group, format_duration(group_stopwatch.seconds())));
  }
  progress.clear();
  result.notes = measurer.notes;
  result.json = to_json(result.quantities);
  result.json["notes"] = result.notes;
  result.json["seconds"] = stopwatch.seconds();
  const SampleGradientNorms* norms = measurer.known_norms(measurer.gradient_samples());
  if (norms != nullptr) result.layers = layer_means(*norms);
  if (!request.out.empty()) write_files(request.out, result, norms);
  return result;
}

}  // namespace batchplus
