#include "run/measurement.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/config_fields.h"
#include "config/config_toml.h"
#include "config/input_choice.h"
#include "networks/weight_file.h"
#include "run/implicit_training.h"
#include "run/run_data.h"
#include "run/unread_keys.h"
#include "store/own_files.h"
#include "store/run_directory.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// A line for each sample, in the order in which they were measured. `records`: their places in the files.
std::string sample_table(const SampleGradientNorms& norms, const std::vector<int64_t>& records) {
  std::string csv = "record,loss,squared_gradient_norm\n";
  const double* losses = norms.losses.data_ptr<double>();
  const double* squared = norms.squared_norms.data_ptr<double>();
  for (int64_t i = 0; i < norms.losses.numel(); ++i) {
    csv += fmt::format("{},{:.9g},{:.9g}\n", records.at(static_cast<size_t>(i)), losses[i], squared[i]);
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

constexpr const char* kNumbers = "measure.json";
constexpr const char* kSampleTable = "sample_norms.csv";
constexpr const char* kLayerTable = "layer_norms.csv";

const OwnFiles kOwnFiles = {.kind = "measurement",
                            .json = kNumbers,
                            .keys = {"notes", "seconds"},
                            .others = {kSampleTable, kLayerTable}};

void write_files(const std::filesystem::path& folder, const MeasureResult& result,
                 const SampleGradientNorms* norms, const std::vector<int64_t>& records) {
  std::map<std::string, std::string> tables;
  if (norms != nullptr) {
    tables[kSampleTable] = sample_table(*norms, records);
    std::string& layers = tables[kLayerTable];
    layers = "layer,mean_squared_gradient_norm\n";
    for (const auto& [name, mean] : result.layers) layers += fmt::format("{},{:.9g}\n", name, mean);
  }
  write_own_files(kOwnFiles, folder, result.json, tables);
}

/// A run is measured on the samples that it was trained and tested on, unless others were asked for. Notes
/// say when the run does not tell which those were.
void require_samples_of_run(const RunConfig& config, const MeasureRequest& request, const Json& inputs,
                            std::vector<std::string>& notes) {
  if (request.config_run.empty()) return;
  const RunLayout layout{request.config_run};
  const RunConfig run = parse_run_config(read_config(layout), layout.config().string());
  const Json all = recorded_inputs(layout);
  if (all.empty()) {
    notes.emplace_back(
        "the run has no digests of its samples, so nobody knows whether it was trained on these");
  }
  Json recorded = Json::object();
  for (const auto& [input, digest] : all.items()) {
    if (input_choice(input, run) == input_choice(input, config)) recorded[input] = digest;
  }
  require_same_inputs(recorded, inputs, config,
                      "restore the files, or measure on these by {weights}, {model} and {dataset}");
}

/// What was measured, so that a file of numbers says whose they are.
Json subject_of(const RunConfig& config, const MeasureRequest& request, const std::string& weights_hash,
                const Json& inputs) {
  Json subject = {{"weights", std::filesystem::absolute(request.weights).string()},
                  {"weights_sha256", weights_hash},
                  {"model", config.model},
                  {"dataset", config.dataset},
                  {"inputs", inputs}};
  if (!request.run.empty()) subject["run"] = std::filesystem::absolute(request.run).string();
  return subject;
}

/// What to do about an option that changes nothing about these groups of quantities; empty when it counts.
/// Most that say how the weights are trained enter the implicit penalties alone.
std::string hint_for(const std::string& key, const RunConfig& config,
                     const std::vector<std::string>& groups) {
  const auto has = [&](const char* group) {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  };
  static const std::map<std::string, std::set<std::string>> kOfGroups = {
      {"sharpness_sigma", {"sharpness"}},
      {"sharpness_eta", {"sharpness"}},
      {"sharpness_draws", {"sharpness"}},
      {"trace_draws", {"hessian"}},
      {"pl_constant", {"bound"}},
      {"hessian_eigenvalues", {"hessian", "sharpness"}},
      {"hessian_products", {"hessian", "sharpness"}}};
  if (const auto readers = kOfGroups.find(key); readers != kOfGroups.end()) {
    const bool is_read = std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
      return readers->second.contains(group);
    });
    return is_read ? "" : fmt::format("leave it out, or measure {} too", *readers->second.begin());
  }
  static const std::set<std::string> kOfTraining = {"method",      "coefficient", "update_rule", "momentum",
                                                    "outer_batch", "lr",          "inner_batch"};
  if (!kOfTraining.contains(key)) return "";
  if (has(kImplicitRegularizationGroup)) {
    const std::string rule =
        config.update_rule.empty() ? find_method(config.method, "method").update : config.update_rule;
    const bool is_read = key != "momentum" || find_update_rule(rule, "update_rule").has_momentum;
    return is_read ? "" : kNoMomentumHint;
  }
  if (key == "lr" && has("sharpness") && !config.sharpness_eta) return "";
  if (key == "inner_batch" && config.metrics_batchnorm == "batch") return "";
  return fmt::format("leave it out, or measure {} too", kImplicitRegularizationGroup);
}

void require_read(const RunConfig& config, const MeasureRequest& request,
                  const std::vector<std::string>& groups) {
  for (const ConfigField& field : config_fields()) {
    const auto& given = request.given_keys;
    if (std::find(given.begin(), given.end(), field.key) == given.end()) continue;
    const std::string hint = hint_for(field.key, config, groups);
    if (!hint.empty())
      throw Error("for these quantities the option changes nothing", {field.key, field.get(config), hint});
  }
}

/// The learning rate that was asked for, or that of the run's last outer batch, or the config's.
double learning_rate_of(const RunConfig& config, const MeasureRequest& request) {
  if (request.learning_rate) return *request.learning_rate;
  if (request.run.empty()) return config.lr;
  return read_status(RunLayout{request.run}).value("lr", config.lr);
}

/// How the weights are trained. A coefficient that decays has done so at the end of a run.
ImplicitTraining training_of(const RunConfig& config, const MeasureRequest& request, const DataPlan& data) {
  if (!request.unknown_training.empty()) {
    return {.why_not =
                fmt::format("a weight file does not say how it is trained; give {}, or a run directory",
                            join(request.unknown_training, ", "))};
  }
  // A run's config has B as a number, and may be measured on fewer samples than that.
  const std::string& outer = config.outer_batch;
  const bool is_number = !outer.empty() && outer.find_first_not_of("0123456789") == std::string::npos;
  const int64_t n = is_number ? parse_integer(outer, "outer_batch") : data.train_samples;
  return implicit_training(resolve_method(config, n), data, learning_rate_of(config, request),
                           request.run.empty() ? 0 : 1);
}

}  // namespace

MeasureResult run_measurement(const RunConfig& config, const MeasureRequest& request) {
  const auto groups = parse_metric_groups(request.quantities, MetricUse::kMeasure, "quantities");
  const bool has_penalties =
      std::find(groups.begin(), groups.end(), kImplicitRegularizationGroup) != groups.end();
  require_read(config, request, groups);
  if (!request.out.empty()) require_free_for(kOwnFiles, request.out);
  StateDictFile weights = read_weight_file(request.weights);
  const std::string weights_hash = weights_sha256(to_tensors(weights));
  if (!request.run.empty()) {
    require_checksum(read_status(RunLayout{request.run}), kWeightsChecksum, weights_hash, request.weights);
  }
  MeasureOptions options = resolve_measuring(config);
  const DatasetInfo info = find_dataset(config.dataset);
  const Dataset dataset = load_dataset(config, info);
  const DataPlan plan = resolve_data(config, describe(info, dataset));
  if (has_penalties) {
    const ImplicitTraining implicit = training_of(config, request, plan);
    // Who asks for everything is told what is not there; who asks for this does not get nothing.
    if (!implicit.training && request.quantities != "all") {
      throw Error("implicit-regularization cannot be measured",
                  {"quantities", request.quantities, implicit.why_not});
    }
    options.training = implicit.training;
    options.why_no_training = implicit.why_not;
  }
  const DatasetViews views = make_views(dataset, plan.views);
  const Json inputs = digest_inputs(views, "");
  std::vector<std::string> notes;
  if (std::string note = note_on_weights(weights); !note.empty()) notes.push_back(std::move(note));
  if (std::string note = note_on_normalization(request.weights, plan); !note.empty())
    notes.push_back(std::move(note));
  require_samples_of_run(config, request, inputs, notes);
  const Model model = build_network(resolve_network(config, plan.dataset));
  load_weights(*model.module, std::move(weights), request.weights.string());
  model.module->to(request.device);
  FlatParameters parameters(*model.module);

  const Stopwatch stopwatch;
  Progress progress({.unit = "samples", .is_quiet = request.is_quiet});
  Measurer measurer(
      {model, parameters, views.train, views.test, plan.normalization, request.device}, options,
      [&](double done, double total, const std::string& label) { progress.update(done, total, label); });
  require_possible(measurer, groups);
  measurer.require_finite_outputs(request.weights);
  MeasureResult result;
  for (const std::string& group : groups) {
    const Stopwatch group_stopwatch;
    for (Quantity& quantity : measure_groups(measurer, {group}))
      result.quantities.push_back(std::move(quantity));
    measurer.require_finite_outputs(request.weights);
    progress.print_line(fmt::format("{} measured, {}", group, format_duration(group_stopwatch.seconds())));
  }
  progress.clear();
  result.notes = std::move(notes);
  result.notes.insert(result.notes.end(), measurer.notes.begin(), measurer.notes.end());
  result.json = to_json(result.quantities);
  result.json["notes"] = result.notes;
  result.json["seconds"] = stopwatch.seconds();
  result.json["subject"] = subject_of(config, request, weights_hash, inputs);
  const SampleGradientNorms* norms = measurer.known_norms(measurer.gradient_samples());
  if (norms != nullptr) result.layers = layer_means(*norms);
  if (!request.out.empty())
    write_files(request.out, result, norms, measurer.records(measurer.gradient_samples()));
  return result;
}

}  // namespace batchplus
