#include "run/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <tuple>

#include "networks/weight_file.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int64_t kDefaultEpochs = 10;

/// What a word of the config stands for. An Error for a word that is none of them.
template <class Meaning>
Meaning meaning_of(const std::string& word, const std::string& key,
                   const std::vector<std::pair<std::string, Meaning>>& words) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : words) {
    if (name == word) return meaning;
    names.push_back(name);
  }
  throw Error("not one of the choices", {key, word, suggest_name(word, names)});
}

/// The outer batch size that "256", "2x" or "all" means.
int64_t parse_outer_batch(const std::string& text, int64_t inner_batch, int64_t samples) {
  const std::string where = "outer_batch";
  int64_t outer = 0;
  if (text == "all") {
    outer = samples;
  } else if (text.ends_with("x")) {
    const int64_t multiple = parse_integer(text.substr(0, text.size() - 1), where);
    outer = multiple > samples ? samples + 1 : multiple * inner_batch;
  } else {
    outer = parse_integer(text, where);
  }
  if (outer < inner_batch) {
    throw Error("the outer batch is smaller than the inner batch",
                {where, text, fmt::format("B must be at least b = {}", inner_batch)});
  }
  if (outer > samples) {
    throw Error("the outer batch is larger than the training set",
                {where, text, fmt::format("there are {} training samples; 'all' takes them all", samples)});
  }
  return outer;
}

SnapshotOptions resolve_snapshot(const RunConfig& config) {
  return {.gradients = meaning_of<SnapshotGradients>(config.snapshot_gradients, "snapshot_gradients",
                                                     {{"auto", SnapshotGradients::kAuto},
                                                      {"cache", SnapshotGradients::kCache},
                                                      {"recompute", SnapshotGradients::kRecompute}}),
          .memory_bytes = parse_bytes(config.snapshot_memory, "snapshot_memory")};
}

UpdateOptions resolve_update(const RunConfig& config, const std::string& rule) {
  const UpdateOptions defaults;
  return {.rule = find_update_rule(rule, "update_rule").name,
          .momentum = config.momentum,
          .weight_decay = config.weight_decay,
          .beta1 = config.beta1.value_or(defaults.beta1),
          .beta2 = config.beta2.value_or(defaults.beta2),
          .epsilon = config.epsilon.value_or(defaults.epsilon)};
}

/// Completes the constants of Adam where a method of the run steps by it; elsewhere they mean nothing.
void complete_moments(const MethodPlan& method, const std::optional<MethodPlan>& warmup,
                      RunConfig& complete) {
  const auto has_moments = [](const MethodPlan& plan) {
    return find_update_rule(plan.update.rule, "update_rule").has_moments;
  };
  const bool are_used = has_moments(method) || (warmup && has_moments(*warmup));
  const UpdateOptions& update = method.update;
  for (const auto& [key, member, value] : {std::tuple("beta1", &RunConfig::beta1, update.beta1),
                                           std::tuple("beta2", &RunConfig::beta2, update.beta2),
                                           std::tuple("epsilon", &RunConfig::epsilon, update.epsilon)}) {
    if (are_used) {
      complete.*member = value;
    } else if (complete.*member) {
      throw Error(fmt::format("the update rule {} has no {}", update.rule, key),
                  {key, format_number(*(complete.*member)), "leave it out, or choose adam or adamw"});
    }
  }
}

/// What a config says of its method, the words completed by the method's defaults.
struct MethodWords {
  std::string coefficient;
  std::string update_rule;
  std::string outer_batch;
};

MethodPlan resolve_method(const RunConfig& config, const MethodInfo& method, int64_t n, MethodWords& words) {
  if (config.inner_batch > n) {
    throw Error(
        "the inner batch is larger than the training set",
        {"inner_batch", std::to_string(config.inner_batch), fmt::format("there are {} training samples", n)});
  }
  if (method.coefficient.empty() && !words.coefficient.empty()) {
    std::vector<std::string> others;
    for (const MethodInfo& other : methods()) {
      if (!other.coefficient.empty()) others.push_back(other.name);
    }
    throw Error(fmt::format("{} has no control variate", method.name),
                {"coefficient", words.coefficient, "leave it out, or choose one of " + join(others, ", ")});
  }
  if (words.coefficient.empty()) words.coefficient = method.coefficient;
  if (words.update_rule.empty()) words.update_rule = method.update;
  if (words.outer_batch.empty()) words.outer_batch = method.outer_batch;
  const int64_t outer = parse_outer_batch(words.outer_batch, config.inner_batch, n);
  if (method.is_full_batch && outer != n) {
    const auto other = std::find_if(methods().begin(), methods().end(), [&](const MethodInfo& info) {
      return !info.is_full_batch && info.coefficient == method.coefficient;
    });
    throw Error(fmt::format("{} takes its snapshot over all samples", method.name),
                {"outer_batch", words.outer_batch,
                 other == methods().end() ? "leave it out" : "leave it out, or choose " + other->name});
  }
  words.outer_batch = std::to_string(outer);
  MethodPlan plan{.info = method,
                  .estimator = {.snapshot = resolve_snapshot(config), .radius = config.radius},
                  .update = resolve_update(config, words.update_rule),
                  .sizes = {.outer_batch = outer, .inner_batch = config.inner_batch}};
  if (!words.coefficient.empty())
    plan.estimator.coefficient = CoefficientSchedule::parse(words.coefficient, "coefficient");
  return plan;
}

TrainOptions resolve_training(const RunConfig& config, int64_t n) {
  TrainOptions options{.learning_rate = config.lr,
                       .schedule = Schedule::parse(config.schedule, "schedule"),
                       .epochs = config.epochs,
                       .warmup_epochs = config.warmup_epochs,
                       .warmup_learning_rate = config.warmup_lr.value_or(config.lr)};
  if (config.budget_epochs)
    options.budget_sample_gradients = std::llround(*config.budget_epochs * static_cast<double>(n));
  return options;
}

/// And nothing else, as a training's checkpoint does.
bool holds_weights(const std::filesystem::path& file) {
  try {
    return read_weight_file(file).is_all;
  } catch (const Error&) {
    return false;
  }
}

/// `save_weights` replaces weights alone, and not those that something else depends on: what the run begins
/// with, and what a run directory holds.
void require_free_for_weights(const RunConfig& config) {
  namespace fs = std::filesystem;
  const fs::path target = config.save_weights;
  require_writable_target(target, "{save_weights}");
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(what, {"save_weights", target.string(), hint});
  };
  const auto resolved = [](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)); };
  const fs::path out = config.out.empty() ? fs::path() : resolved(config.out);
  const std::string hint = "name another file; a run leaves its weights in weights.pt anyway";
  if (resolved(target) == out) refuse("the run's directory will be there", hint);
  std::error_code ignored;
  if (!config.init.empty() && fs::equivalent(target, config.init, ignored))
    refuse("the run begins with this file", "name another file for the weights it ends with");
  const fs::path directory = resolved(fs::absolute(target).parent_path());
  const RunLayout layout{directory};
  const std::vector<fs::path> files = layout.files();
  const bool is_of_run = std::find(files.begin(), files.end(), directory / target.filename()) != files.end();
  if (is_of_run && (directory == out || layout.holds_run()))
    refuse("the file is one of a run directory", hint);
  if (fs::exists(target) && fs::file_size(target) > 0 && !holds_weights(target))
    refuse("the file holds something else than weights", "name another file, or remove this one");
}

/// A run that is named after its method makes at least one step with it.
void require_steps_after_warmup(const RunPlan& plan) {
  const TrainOptions& train = plan.train;
  if (train.warmup_epochs == 0) return;
  const std::string value = std::to_string(train.warmup_epochs);
  if (train.epochs && train.warmup_epochs >= *train.epochs) {
    throw Error(fmt::format("the warm-up leaves no step of {}", plan.method.info.name),
                {"warmup_epochs", value,
                 fmt::format("the run has {} epoch{} in all", *train.epochs, *train.epochs == 1 ? "" : "s")});
  }
  if (!train.budget_sample_gradients) return;
  RunPlan warmup = plan;
  warmup.train.epochs = train.warmup_epochs;
  warmup.train.budget_sample_gradients.reset();
  // Without parameters every snapshot is kept: it costs no more than this.
  const int64_t spent = count_sample_gradients(warmup, 0);
  if (spent + plan.method.cost(plan.method.sizes.outer_batch, 0) > *train.budget_sample_gradients) {
    throw Error(fmt::format("the warm-up leaves no step of {}", plan.method.info.name),
                {"warmup_epochs", value,
                 fmt::format("it takes {} of {} sample gradients: raise {{budget_epochs}}",
                             format_count(spent), format_count(*train.budget_sample_gradients))});
  }
}

}  // namespace

DataPlan resolve_data(const RunConfig& config, const DatasetInfo& dataset) {
  const bool is_augmented =
      meaning_of<bool>(config.augment, "augment",
                       {{"auto", dataset.is_augmented_by_default}, {"none", false}, {"standard", true}});
  if (config.cutout > dataset.side) {
    throw Error("the square is larger than the images",
                {"cutout", std::to_string(config.cutout), fmt::format("give at most {}", dataset.side)});
  }
  const ViewOptions views{.train_limit = config.train_limit,
                          .test_limit = config.test_limit,
                          .validation = config.validation,
                          .is_sequential = config.sampling == "sequential",
                          .split_seed = static_cast<uint64_t>(config.split_seed)};
  return {.dataset = dataset,
          .directory = config.data_dir,
          .views = views,
          .normalization = parse_normalization(config.normalize, dataset),
          .is_augmented = is_augmented,
          .cutout = config.cutout,
          .mixup = config.mixup,
          .sampling = meaning_of<Sampling>(config.sampling, "sampling",
                                           {{"epoch", Sampling::kEpoch},
                                            {"independent", Sampling::kIndependent},
                                            {"sequential", Sampling::kSequential}}),
          .train_samples = count_train_samples(views, dataset.train_samples)};
}

NetworkPlan resolve_network(const RunConfig& config, const DatasetInfo& dataset) {
  return {.network = find_network(config.model),
          .options = {.channels = dataset.channels,
                      .side = dataset.side,
                      .classes = dataset.classes,
                      .dropout = config.dropout,
                      .normalization = parse_normalization_kind(config.normalization, "normalization")},
          .kernels = meaning_of<Kernels>(
              config.kernels, "kernels",
              {{"fast", Kernels::kFast}, {"direct", Kernels::kDirect}, {"aten", Kernels::kAten}}),
          .seed = static_cast<uint64_t>(config.seed),
          .init = config.init};
}

MethodPlan resolve_method(const RunConfig& config, int64_t n) {
  MethodWords words{config.coefficient, config.update_rule, config.outer_batch};
  return resolve_method(config, find_method(config.method, "method"), n, words);
}

MeasureOptions resolve_measuring(const RunConfig& config) {
  MeasureOptions options{
      .samples = config.metrics_samples,
      .is_sequential = config.sampling == "sequential",
      .split_seed = static_cast<uint64_t>(config.split_seed),
      .statistics = meaning_of<BatchNorm::Statistics>(
          config.metrics_batchnorm, "metrics_batchnorm",
          {{"eval", BatchNorm::Statistics::kRunning}, {"batch", BatchNorm::Statistics::kBatch}}),
      .memory_bytes = parse_bytes(config.metrics_memory, "metrics_memory"),
      .eigenvalues = config.hessian_eigenvalues,
      .max_products = config.hessian_products,
      .trace_draws = config.trace_draws,
      .sigma = config.sharpness_sigma,
      .eta = config.sharpness_eta.value_or(config.lr),
      .sharpness_draws = config.sharpness_draws,
      .pl_constant = config.pl_constant,
      .seed = static_cast<uint64_t>(config.seed)};
  if (options.statistics == BatchNorm::Statistics::kBatch) options.chunk = config.inner_batch;
  return options;
}

RunPlan resolve(const RunConfig& config, const DatasetInfo& dataset) {
  RunConfig complete = config;
  DataPlan data = resolve_data(config, dataset);
  const int64_t n = data.train_samples;
  complete.augment = data.is_augmented ? "standard" : "none";
  complete.normalize =
      fmt::format("{}/{}", fmt::join(data.normalization.mean, ","), fmt::join(data.normalization.std, ","));

  MethodWords words{config.coefficient, config.update_rule, config.outer_batch};
  MethodPlan method = resolve_method(config, find_method(config.method, "method"), n, words);
  complete.coefficient = words.coefficient;
  complete.update_rule = words.update_rule;
  complete.outer_batch = words.outer_batch;

  const MethodInfo& warmup = find_method(config.warmup_method, "warmup_method");
  std::optional<MethodPlan> warmup_method;
  if (config.warmup_epochs > 0) {
    MethodWords defaults;
    warmup_method.emplace(resolve_method(config, warmup, n, defaults));
    if (!complete.warmup_lr) complete.warmup_lr = config.lr;
  }
  complete_moments(method, warmup_method, complete);
  if (!complete.epochs && !complete.budget_epochs) complete.epochs = kDefaultEpochs;
  if (!config.save_weights.empty()) require_free_for_weights(config);
  RunPlan plan{.complete = complete,
               .seed = static_cast<uint64_t>(config.seed),
               .data = std::move(data),
               .network = resolve_network(config, dataset),
               .objective = {.label_smoothing = config.label_smoothing},
               .method = std::move(method),
               .warmup_method = std::move(warmup_method),
               .average = config.average,
               .train = resolve_training(complete, n),
               .eval_every = config.eval_every,
               .metric_groups = parse_metric_groups(config.metrics, MetricUse::kTrain, "metrics"),
               .metrics_every = config.metrics_every,
               .measuring = resolve_measuring(config),
               .checkpoints = CheckpointSchedule::parse(config.checkpoint_every, "checkpoint_every")};
  require_steps_after_warmup(plan);
  return plan;
}

Model build_network(const NetworkPlan& plan) {
  Model model = build_network(plan.network, plan.options, plan.seed);
  use_kernels(*model.module, plan.kernels);
  return model;
}

int64_t count_sample_gradients(const RunPlan& plan, int64_t parameters) {
  const TrainOptions& train = plan.train;
  const int64_t limit = train.budget_sample_gradients.value_or(std::numeric_limits<int64_t>::max());
  const int64_t n = plan.data.train_samples;
  int64_t spent = 0;
  for (int64_t epoch = 0; !train.epochs || epoch < *train.epochs; ++epoch) {
    const MethodPlan& method = epoch < train.warmup_epochs ? *plan.warmup_method : plan.method;
    const auto [outer, inner] = method.sizes;
    const int64_t full = method.cost(outer, parameters);
    for (int64_t i = 0; i < n / outer; ++i) {
      if (spent + full > limit) return spent;
      spent += full;
    }
    // What is left of a pass makes a shorter outer batch if it holds an inner one.
    const bool has_tail = plan.data.sampling != Sampling::kIndependent && n % outer >= inner;
    if (!has_tail) continue;
    const int64_t rest = method.cost(n % outer, parameters);
    if (spent + rest > limit) return spent;
    spent += rest;
  }
  return spent;
}

}  // namespace batchplus
