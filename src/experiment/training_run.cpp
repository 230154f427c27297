#include "experiment/training_run.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "experiment/measuring.h"
#include "experiment/method_config.h"
#include "experiment/provenance.h"
#include "experiment/run_data.h"
#include "experiment/run_probes.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "store/event_file.h"
#include "util/error.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// 195 as 195 and 3.5 as 3.5.
Json compact_number(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return static_cast<int64_t>(number);
  return number;
}

Sampling parse_sampling(const std::string& text) {
  if (text == "sequential") return Sampling::kSequential;
  return text == "independent" ? Sampling::kIndependent : Sampling::kEpoch;
}

TrainOptions train_options(const RunConfig& config, int64_t n) {
  TrainOptions options{.learning_rate = config.lr,
                       .schedule = Schedule::parse(config.schedule, "--schedule"),
                       .epochs = config.epochs,
                       .budget_sample_gradients = std::nullopt,
                       .warmup_epochs = config.warmup_epochs,
                       .warmup_learning_rate = config.warmup_lr.value_or(config.lr),
                       .eval_every = config.eval_every,
                       .metrics_every = config.metrics_every};
  if (config.budget_epochs) {
    options.budget_sample_gradients = std::llround(*config.budget_epochs * static_cast<double>(n));
  }
  return options;
}

/// What can be wrong with a config and needs no data to be seen.
void check_without_data(const RunConfig& config) {
  find_dataset(config.dataset);
  find_network(config.model);
  find_method(config.method, "--method");
  find_method(config.warmup_method, "--warmup-method");
  Schedule::parse(config.schedule, "--schedule");
  parse_metric_groups(config.metrics, MetricUse::kTrain, "--metrics");
  measure_options(config);
  if (!config.save_weights.empty()) require_writable_target(config.save_weights, "--save-weights");
}

void require_affordable(const TrainOptions& options, const Method& method) {
  const int64_t cost = method.cost(method.outer_batch_size());
  if (!options.budget_sample_gradients || cost <= *options.budget_sample_gradients) return;
  throw Error("the budget does not allow a single outer batch",
              {"--budget-epochs", fmt::format("{} sample gradients", *options.budget_sample_gradients),
               fmt::format("one outer batch costs {}", cost)});
}

std::string describe(const EpochRecord& record) {
  std::string line = fmt::format("epoch {:g}  lr {:g}  running loss {:.4f}", record.epoch,
                                 record.learning_rate, record.running_loss);
  if (record.validation) line += fmt::format("  validation {:.2f}%", record.validation->accuracy);
  if (record.test)
    line += fmt::format("  test loss {:.4f}  test {:.2f}%", record.test->loss, record.test->accuracy);
  return line +
         fmt::format(
             "  {} samples/s",
             format_count(std::llround(static_cast<double>(record.sample_gradients) / record.train_seconds)));
}

/// The measured values in short, for the reader of the progress.
std::string describe_metrics(const std::vector<Quantity>& metrics) {
  std::vector<std::string> parts;
  for (const Quantity& quantity : metrics)
    parts.push_back(fmt::format("{} {:.4g}", quantity.name, quantity.value));
  return fmt::format("    {}", join(parts, "  "));
}

Json record_json(const EpochRecord& record, int64_t inner_batch) {
  Json json = {
      {"epoch", compact_number(record.epoch)},
      {"outer_steps", record.outer_steps},
      {"inner_steps", record.inner_steps},
      {"gradient_evaluations",
       compact_number(static_cast<double>(record.sample_gradients) / static_cast<double>(inner_batch))},
      {"sample_gradients", record.sample_gradients},
      {"lr", record.learning_rate},
      {"running_loss", number_or_null(record.running_loss)},
  };
  if (record.validation) {
    json["validation_loss"] = number_or_null(record.validation->loss);
    json["validation_accuracy"] = record.validation->accuracy;
  }
  if (record.test) {
    json["test_loss"] = number_or_null(record.test->loss);
    json["test_accuracy"] = record.test->accuracy;
  }
  json["seconds"] = record.train_seconds;
  if (record.metrics_seconds > 0) json["metrics_seconds"] = record.metrics_seconds;
  json.update(to_json(record.metrics));
  return json;
}

/// The numbers of a record under TensorBoard's names: test/loss, metrics/loss_gap, ...
std::vector<std::pair<std::string, double>> scalars_of(const Json& record) {
  static const std::map<std::string, std::string> kTags = {{"running_loss", "train/running_loss"},
                                                           {"lr", "train/lr"},
                                                           {"test_loss", "test/loss"},
                                                           {"test_accuracy", "test/accuracy"},
                                                           {"validation_loss", "validation/loss"},
                                                           {"validation_accuracy", "validation/accuracy"}};
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [key, entry] : record.items()) {
    const auto tag = kTags.find(key);
    if (tag != kTags.end() && entry.is_number()) scalars.emplace_back(tag->second, entry.get<double>());
    const bool is_metric = entry.is_object() && entry.contains("value") && entry["value"].is_number();
    if (is_metric) scalars.emplace_back(fmt::format("metrics/{}", key), entry["value"].get<double>());
  }
  return scalars;
}

/// A run's records as it writes them: into its directory, and for TensorBoard if wanted.
class Records {
 public:
  Records(const RunConfig& config, const RunEnvironment& environment) {
    if (config.out.empty()) return;
    writer_.emplace(config.out, to_toml(config), provenance(environment.device.str()));
    if (!environment.has_tensorboard) return;
    events_.emplace(writer_->layout().events());
    std::string indented = to_toml(config);
    for (size_t at = 0; (at = indented.find('\n', at)) != std::string::npos; at += 5)
      indented.insert(at + 1, "    ");
    events_->add_text("config", fmt::format("    {}", indented));
  }

  void add(const Json& record) {
    if (!writer_) return;
    writer_->record(record);
    // Runs at equal gradient evaluations are then above each other.
    if (events_)
      events_->add_scalars(std::llround(record["gradient_evaluations"].get<double>()), scalars_of(record));
  }
  void finish(const Json& result) {
    if (writer_) writer_->set_status(result["status"], result);
  }
  /// Null without a run directory.
  const RunLayout* layout() const { return writer_ ? &writer_->layout() : nullptr; }

 private:
  std::optional<RunWriter> writer_;
  std::optional<EventFile> events_;
};

/// The result, but for what needs the model.
Json result_json(const TrainResult& trained, int64_t inner_batch, const GradientBudget& budget) {
  const EpochRecord& last = trained.last;
  Json result = {{"status", trained.is_diverged ? "diverged" : "done"}};
  result.update(record_json(last, inner_batch));
  result["epochs"] = result["epoch"];
  result.erase("epoch");
  result["sample_forwards"] = budget.sample_forwards();
  result["samples_per_second"] = static_cast<double>(last.sample_gradients) / last.train_seconds;
  if (trained.best_test_accuracy) result["best_test_accuracy"] = *trained.best_test_accuracy;
  return result;
}

}  // namespace

RunOutcome run_training(RunConfig config, const RunEnvironment& environment) {
  check_without_data(config);
  if (environment.has_tensorboard && config.out.empty()) {
    throw Error("event files go into a run directory", {"--tensorboard", "", "name one with --out"});
  }
  const RunData data = load_run_data(config);
  const DatasetViews& views = data.views;
  const int64_t n = views.train.size();
  resolve_method(config, n);

  const Model model = build_run_network(config, data.dataset);
  if (!config.init.empty()) load_state_dict(*model.module, read_weights(config.init), config.init);
  model.module->to(environment.device);

  FlatParameters parameters(*model.module);
  GradientBudget budget;
  GradientOracle oracle(model, parameters, budget);
  Method method = build_method(config, oracle);
  std::optional<Method> warmup_method;
  if (config.warmup_epochs > 0) warmup_method.emplace(build_method(warmup_config(config, n), oracle));

  BatchSource source(views.train, ImageTransform(data.normalization, config.augment == "standard"),
                     {.seed = static_cast<uint64_t>(config.seed),
                      .sampling = parse_sampling(config.sampling),
                      .inner_size = config.inner_batch,
                      .device = environment.device,
                      .memory_format = model.memory_format});
  BatchPipeline batches(source);
  const TrainOptions options = train_options(config, n);
  require_affordable(options, warmup_method ? *warmup_method : method);
  Progress progress({.unit = "samples", .is_quiet = environment.is_quiet});
  RunProbes probes(
      config, {model, parameters, views.train, views.test, data.normalization, environment.device}, progress);
  probes.watch(method);

  Records records(config, environment);

  const auto evaluate_on = [&](const ImageView& view) {
    return evaluate(model, samples_of(view, data.normalization, environment.device, model.memory_format));
  };
  Trainer::Parts parts{batches, oracle, budget, method, warmup_method ? &*warmup_method : nullptr, [&] {
                         return evaluate_on(views.test);
                       }};
  if (views.validation.size() > 0) parts.evaluate_validation = [&] { return evaluate_on(views.validation); };
  if (!probes.is_empty()) parts.measure = [&](bool is_due) { return probes.measure(is_due); };
  Trainer trainer(parts, options,
                  {.on_epoch =
                       [&](const EpochRecord& record) {
                         progress.print_line(describe(record));
                         if (!record.metrics.empty()) progress.print_line(describe_metrics(record.metrics));
                         records.add(record_json(record, config.inner_batch));
                       },
                   .on_progress =
                       [&](double done, double total, const std::string& label) {
                         progress.update(done, total, label);
                         if (environment.on_progress) environment.on_progress(done / total);
                       }});
  const TrainResult trained = trainer.run();
  progress.clear();

  const StateDict weights = state_dict(*model.module);
  Json result = result_json(trained, config.inner_batch, budget);
  if (!trained.is_diverged) {
    const Evaluation train = evaluate_on(views.train);
    result["train_loss"] = number_or_null(train.loss);
    result["train_accuracy"] = train.accuracy;
  }
  result["weights_sha256"] = weights_sha256(weights);

  // Weights that are not finite are of no use, and must not replace a file that is.
  if (!trained.is_diverged) {
    if (!config.save_weights.empty()) write_weights(config.save_weights, weights);
    if (records.layout() != nullptr) write_weights(records.layout()->weights(), weights);
  }
  records.finish(result);
  return {result, trained.is_diverged};
}

}  // namespace batchplus
