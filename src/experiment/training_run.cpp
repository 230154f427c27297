#include "experiment/training_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/checkpoint_schedule.h"
#include "experiment/continuation.h"
#include "experiment/measuring.h"
#include "experiment/memory_estimate.h"
#include "experiment/method_config.h"
#include "experiment/provenance.h"
#include "experiment/run_data.h"
#include "experiment/run_probes.h"
#include "experiment/run_records.h"
#include "experiment/run_state.h"
#include "methods/registry.h"
#include "networks/registry.h"
#include "networks/weight_file.h"
#include "util/error.h"
#include "util/file.h"
#include "util/progress.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

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
  CheckpointSchedule::parse(config.checkpoint_every, "--checkpoint-every");
  if (!config.save_weights.empty()) require_writable_target(config.save_weights, "--save-weights");
}

/// Computes with so many threads until the end of the scope; 0: with those that are set.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) {
    if (threads > 0) at::set_num_threads(threads);
  }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// What only makes sense with a run directory.
void require_directory(const RunConfig& config, const RunEnvironment& environment) {
  if (!config.out.empty()) return;
  if (environment.has_tensorboard) {
    throw Error("event files go into a run directory", {"--tensorboard", "", "name one with --out"});
  }
  if (environment.is_resuming) {
    throw Error("only a run with a directory can be resumed", {"--resume", "", "name it with --out"});
  }
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

/// The result, but for what needs the model. `record` is the last one.
Json result_json(const std::string& status, const Json& record, const TrainResult& trained,
                 const GradientBudget& budget) {
  Json result = {{"status", status}};
  result.update(record);
  result["epochs"] = result["epoch"];
  result.erase("epoch");
  result["sample_forwards"] = budget.sample_forwards();
  const double seconds = record["seconds"];
  result["samples_per_second"] = number_or_null(record["sample_gradients"].get<double>() / seconds);
  if (trained.best_test_accuracy) result["best_test_accuracy"] = *trained.best_test_accuracy;
  return result;
}

/// Training samples, as far as is known before the dataset is read; else 0.
int64_t published_samples(const RunConfig& config) {
  const int64_t all = find_dataset(config.dataset).train_samples;
  return config.train_limit > 0 ? std::min(config.train_limit, all) : std::max<int64_t>(0, all - config.validation);
}

/// An Error of a run that had begun: the input was fine, and what was saved is still there.
Error after_start(const Error& problem, const RunRecords& records) {
  Error::Details details = problem.details();
  if (records.writer() != nullptr) {
    details.hint += fmt::format("{}what was saved is intact: go on with --resume --out {}",
                                details.hint.empty() ? "" : "; ", records.writer()->layout().root.string());
  }
  return Error(problem.summary(), details, Error::kFailure);
}

}  // namespace

RunOutcome run_training(RunConfig config, const RunEnvironment& environment) {
  check_without_data(config);
  require_directory(config, environment);
  std::optional<RunWriter> writer;
  std::optional<Continuation> earlier;
  if (environment.is_resuming && RunLayout{config.out}.holds_run()) {
    writer.emplace(config.out);
    earlier = read_continuation(writer->layout());
  }
  const ThreadCount threads(environment.threads == 0 && earlier ? earlier->threads : 0);

  const int64_t published = published_samples(config);
  if (published > 0) require_memory(config, published);
  const RunData data = load_run_data(config);
  const DatasetViews& views = data.views;
  const int64_t n = views.train.size();
  if (published == 0) require_memory(config, n);
  resolve_method(config, n);
  if (earlier) {
    require_same_run(config, *earlier, writer->layout());
    if (!earlier->result.is_null()) return {earlier->result, earlier->result["status"] == "diverged"};
  }

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

  RunState run{model, parameters, oracle, budget, method, warmup_method ? &*warmup_method : nullptr, probes};
  TrainState start;
  if (earlier && earlier->checkpoint) {
    start = run.restore(*earlier->checkpoint, writer->layout().checkpoint().string());
  }
  if (!writer && !config.out.empty()) writer.emplace(config.out);
  RunRecords records(std::move(writer));
  const Json about_us = provenance(environment.device.str());
  if (earlier) {
    for (const std::string& note : earlier->notes) progress.print_line("note: " + note);
    for (const std::string& note : describe_differences(records.writer()->layout(), about_us))
      progress.print_line("note: " + note);
    records.resume(config, about_us, earlier->records);
    progress.print_line(fmt::format("resumed after {:.4g} epochs", start.last.epoch));
  } else {
    records.begin(config, about_us, environment.is_resuming ? RunWriter::Leftover::kReplace : RunWriter::Leftover::kRefuse);
  }
  if (environment.has_tensorboard) records.add_events(config);

  CheckpointSchedule schedule = CheckpointSchedule::parse(config.checkpoint_every, "--checkpoint-every");
  schedule.restart(start);
  int signal = 0;
  const auto save_and_ask = [&](const TrainState& state) {
    if (environment.stop_signal) signal = environment.stop_signal();
    if (records.writer() != nullptr && (signal != 0 || schedule.is_due(state))) {
      Checkpoint checkpoint = run.capture(state);
      add_identity(checkpoint, config, records.writer()->records());
      save_checkpoint(records.writer()->layout(), checkpoint);
      schedule.restart(state);
    }
    return signal == 0;
  };

  const auto evaluate_on = [&](const ImageView& view) {
    return evaluate(model, samples_of(view, data.normalization, environment.device, model.memory_format));
  };
  Trainer::Parts parts{batches, oracle, budget, method, run.warmup_method, [&] {
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
                       },
                   .on_boundary = save_and_ask});
  try {
    const TrainResult trained = trainer.run(start);
    progress.clear();
    const bool is_done = !trained.is_diverged && !trained.is_interrupted;
    const StateDict weights = state_dict(*model.module);
    Json result = result_json(is_done ? "done" : trained.is_diverged ? "diverged" : "interrupted",
                              is_done ? records.last() : record_json(trained.last, config.inner_batch), trained,
                              budget);
    if (is_done) {
      const Evaluation train = evaluate_on(views.train);
      result["train_loss"] = number_or_null(train.loss);
      result["train_accuracy"] = train.accuracy;
    }
    result["weights_sha256"] = weights_sha256(weights);
    // Weights that are not finite are of no use, and must not replace a file that is.
    if (is_done && !config.save_weights.empty()) write_weights(config.save_weights, weights);
    if (is_done && records.writer() != nullptr) write_weights(records.writer()->layout().weights(), weights);
    records.set_status(result);
    if (is_done && records.writer() != nullptr) fs::remove(records.writer()->layout().previous_checkpoint());
    return {result, trained.is_diverged, trained.is_interrupted ? signal : 0};
  } catch (const Error& problem) {
    throw after_start(problem, records);
  }
}

}  // namespace batchplus
