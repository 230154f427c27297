#include "run/measurement.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "networks/weight_file.h"
#include "run/run_data.h"
#include "store/run_directory.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace {

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

MeasureResult run_measurement(const RunConfig& config, const MeasureRequest& request) {
  const auto groups = parse_metric_groups(request.quantities, MetricUse::kMeasure, "quantities");
  StateDictFile weights = read_weight_file(request.weights);
  if (!request.run.empty()) {
    require_checksum(read_status(RunLayout{request.run}), "weights_sha256",
                     weights_sha256(to_tensors(weights)), request.weights);
  }
  const MeasureOptions options = resolve_measuring(config);
  const DatasetInfo info = find_dataset(config.dataset);
  const Dataset dataset = load_dataset(config, info);
  const DataPlan plan = resolve_data(config, describe(info, dataset));
  const DatasetViews views = make_views(dataset, plan.views);
  const Model model = build_network(resolve_network(config, plan.dataset));
  load_weights(*model.module, std::move(weights), request.weights.string());
  model.module->to(request.device);
  FlatParameters parameters(*model.module);

  const Stopwatch stopwatch;
  Progress progress({.unit = "samples", .is_quiet = request.is_quiet});
  Measurer measurer(
      {model, parameters, views.train, views.test, plan.normalization, request.device}, options,
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
