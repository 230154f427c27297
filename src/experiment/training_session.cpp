#include "experiment/training_session.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>

#include "experiment/continuation.h"
#include "experiment/measuring.h"
#include "experiment/method_config.h"
#include "networks/weight_file.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

Sampling parse_sampling(const std::string& text) {
  if (text == "sequential") return Sampling::kSequential;
  return text == "independent" ? Sampling::kIndependent : Sampling::kEpoch;
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

/// "(evaluation statistics)"; empty for what BatchNorm's statistics do not enter.
std::string statistics_of(const Quantity& quantity) {
  for (const auto& [key, detail] : quantity.details) {
    if (key == "batchnorm") return fmt::format("({})", describe_statistics(std::get<std::string>(detail)));
  }
  return "";
}

/// The measured values in short, for the reader of the progress; statistics behind the last that has them.
std::string describe_metrics(const std::vector<Quantity>& metrics) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < metrics.size(); ++i) {
    parts.push_back(fmt::format("{} {:.4g}", metrics[i].name, metrics[i].value));
    const std::string statistics = statistics_of(metrics[i]);
    const bool is_last = i + 1 == metrics.size() || statistics_of(metrics[i + 1]) != statistics;
    if (is_last && !statistics.empty()) parts.push_back(statistics);
  }
  return fmt::format("    {}", join(parts, "  "));
}

/// The config's network with its initial weights, on the device.
Model initial_network(const RunConfig& config, const RunData& data, torch::Device device) {
  Model model = build_run_network(config, data.dataset);
  if (!config.init.empty()) load_weights(*model.module, read_weight_file(config.init), config.init);
  model.module->to(device);
  return model;
}

std::optional<Method> build_warmup_method(const RunConfig& config, int64_t n, GradientOracle& oracle) {
  if (config.warmup_epochs == 0) return std::nullopt;
  return build_method(warmup_config(config, n), oracle);
}

/// The result, but for what needs the model. `record` is the last one.
Json result_json(const std::string& status, const Json& record, const TrainResult& trained,
                 const GradientBudget& budget) {
  Json result = {{"status", status}};
  result.update(record);
  result["epochs"] = result["epoch"];
  result.erase("epoch");
  result["sample_forwards"] = budget.sample_forwards();
  const double seconds = record.at("seconds");
  result["samples_per_second"] = number_or_null(record.at("sample_gradients").get<double>() / seconds);
  if (trained.best_test_accuracy) result["best_test_accuracy"] = *trained.best_test_accuracy;
  return result;
}

}  // namespace

TrainingSession::TrainingSession(const RunConfig& config, const RunData& data,
                                 const RunEnvironment& environment)
    : config_(config),
      data_(data),
      environment_(environment),
      model_(initial_network(config, data, environment.device)),
      parameters_(*model_.module),
      oracle_(model_, parameters_, budget_),
      method_(build_method(config, oracle_)),
      warmup_method_(build_warmup_method(config, data.views.train.size(), oracle_)),
      source_(data.views.train, ImageTransform(data.normalization, config.augment == "standard"),
              {.seed = static_cast<uint64_t>(config.seed),
               .sampling = parse_sampling(config.sampling),
               .inner_size = config.inner_batch,
               .device = environment.device,
               .memory_format = model_.memory_format}),
      batches_(source_),
      progress_({.unit = "samples", .is_quiet = environment.is_quiet}),
      probes_(
          config,
          {model_, parameters_, data.views.train, data.views.test, data.normalization, environment.device},
          progress_),
      state_{model_, parameters_, oracle_, budget_, method_, warmup_method_ ? &*warmup_method_ : nullptr,
             probes_},
      schedule_(CheckpointSchedule::parse(config.checkpoint_every, "--checkpoint-every")) {
  require_affordable(options(), warmup_method_ ? *warmup_method_ : method_);
  probes_.watch(method_);
}

void TrainingSession::restore(const Checkpoint& checkpoint, const std::string& where) {
  start_ = state_.restore(checkpoint, where);
}

RunOutcome TrainingSession::run(RunRecords& records) {
  schedule_.restart(start_);
  progress_.count_from(static_cast<double>(start_.last.sample_gradients));
  data_fingerprint_ = fingerprint(data_.views.train);
  Trainer trainer(parts(), options(),
                  {.on_epoch =
                       [&](const EpochRecord& record) {
                         progress_.print_line(describe(record));
                         if (!record.metrics.empty()) progress_.print_line(describe_metrics(record.metrics));
                         records.add(record_json(record, config_.inner_batch));
                       },
                   .on_progress =
                       [&](double done, double total, const std::string& label) {
                         progress_.update(done, total, label);
                         if (environment_.on_progress) environment_.on_progress(done / total);
                       },
                   .on_boundary = [&](const TrainState& state) { return save_and_ask(state, records); }});
  const TrainResult trained = trainer.run(start_);
  progress_.clear();
  return conclude(trained, records);
}

bool TrainingSession::save_and_ask(const TrainState& state, const RunRecords& records) {
  if (environment_.stop_signal) signal_ = environment_.stop_signal();
  const bool is_due = signal_ != 0 || schedule_.is_due(state);
  if (records.writer() != nullptr && is_due) {
    Checkpoint checkpoint = state_.capture(state);
    add_identity(checkpoint, config_, data_fingerprint_, records.writer()->records());
    save_checkpoint(records.writer()->layout(), checkpoint);
    schedule_.restart(state);
  }
  return signal_ == 0;
}

RunOutcome TrainingSession::conclude(const TrainResult& trained, RunRecords& records) {
  const bool is_done = !trained.is_diverged && !trained.is_interrupted;
  const std::string status = is_done ? "done" : trained.is_diverged ? "diverged" : "interrupted";
  const Json record = is_done ? records.last() : record_json(trained.last, config_.inner_batch);
  if (record.is_null())
    throw Error("the checkpoint of a run that is over has no records", {config_.out, "", ""});
  Json result = result_json(status, record, trained, budget_);
  const StateDict weights = state_dict(*model_.module);
  if (is_done) {
    const Evaluation train = evaluate_on(data_.views.train);
    result["train_loss"] = number_or_null(train.loss);
    result["train_accuracy"] = train.accuracy;
  }
  result["threads"] = at::get_num_threads();
  result["weights_sha256"] = weights_sha256(weights);
  // Weights that are not finite are of no use, and must not replace a file that is.
  if (is_done && !config_.save_weights.empty()) write_weights(config_.save_weights, weights);
  if (is_done && records.writer() != nullptr) write_weights(records.writer()->layout().weights(), weights);
  records.set_status(result);
  if (is_done && records.writer() != nullptr) fs::remove(records.writer()->layout().previous_checkpoint());
  return {result, trained.is_diverged, trained.is_interrupted ? signal_ : 0};
}

Trainer::Parts TrainingSession::parts() {
  Trainer::Parts parts{batches_,
                       oracle_,
                       budget_,
                       method_,
                       state_.warmup_method,
                       [this] {
                         return evaluate_on(data_.views.test); }};
  if (data_.views.validation.size() > 0)
    parts.evaluate_validation = [this] { return evaluate_on(data_.views.validation); };
  if (!probes_.is_empty()) parts.measure = [this](bool is_due) { return probes_.measure(is_due); };
  return parts;
}

TrainOptions TrainingSession::options() const {
  TrainOptions options{.learning_rate = config_.lr,
                       .schedule = Schedule::parse(config_.schedule, "--schedule"),
                       .epochs = config_.epochs,
                       .budget_sample_gradients = std::nullopt,
                       .warmup_epochs = config_.warmup_epochs,
                       .warmup_learning_rate = config_.warmup_lr.value_or(config_.lr),
                       .eval_every = config_.eval_every,
                       .metrics_every = config_.metrics_every};
  if (config_.budget_epochs) {
    options.budget_sample_gradients =
        std::llround(*config_.budget_epochs * static_cast<double>(data_.views.train.size()));
  }
  return options;
}

Evaluation TrainingSession::evaluate_on(const ImageView& view) const {
  return evaluate(model_, samples_of(view, data_.normalization, environment_.device, model_.memory_format));
}

}  // namespace batchplus
