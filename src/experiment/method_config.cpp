#include "experiment/method_config.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "methods/registry.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int64_t kDefaultEpochs = 10;

/// Sample gradients of an outer batch of so many samples.
int64_t cost_of(const RunConfig& config, int64_t outer, int64_t parameters) {
  const bool is_cached = Snapshot::keeps(snapshot_options(config), outer / config.inner_batch, parameters);
  return find_method(config.method, "--method").cost_of(outer, config.inner_batch, is_cached);
}

}  // namespace

SnapshotOptions snapshot_options(const RunConfig& config) {
  SnapshotOptions options;
  if (config.snapshot_gradients == "cache") options.gradients = SnapshotGradients::kCache;
  if (config.snapshot_gradients == "recompute") options.gradients = SnapshotGradients::kRecompute;
  options.memory_bytes = parse_bytes(config.snapshot_memory, "--snapshot-memory");
  return options;
}

void resolve_method(RunConfig& config, int64_t n) {
  const MethodInfo& method = find_method(config.method, "--method");
  if (config.inner_batch > n) {
    throw Error("the inner batch is larger than the training set",
                {"--inner-batch", std::to_string(config.inner_batch),
                 fmt::format("there are {} training samples", n)});
  }
  if (method.coefficient.empty() && !config.coefficient.empty()) {
    throw Error(
        fmt::format("{} has no control variate", method.name),
        {"--coefficient", config.coefficient, "leave it out, or choose b-svrg, bp-svrg or alpha-svrg"});
  }
  if (config.coefficient.empty()) config.coefficient = method.coefficient;
  if (config.update_rule.empty()) config.update_rule = to_string(method.update);
  if (config.outer_batch.empty()) config.outer_batch = method.outer_batch;
  const int64_t outer = parse_outer_batch(config.outer_batch, config.inner_batch, n);
  if (method.is_full_batch && outer != n) {
    const std::string alternative = method.name == "svrg" ? "b-svrg" : "bp-svrg";
    throw Error(fmt::format("{} takes its snapshot over all samples", method.name),
                {"--outer-batch", config.outer_batch, "leave it out, or choose " + alternative});
  }
  config.outer_batch = std::to_string(outer);
  if (!config.epochs && !config.budget_epochs) config.epochs = kDefaultEpochs;
  if (config.warmup_epochs > 0 && !config.warmup_lr) config.warmup_lr = config.lr;
}

int64_t parse_outer_batch(const std::string& text, int64_t inner_batch, int64_t samples) {
  const std::string where = "--outer-batch";
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

RunConfig warmup_config(RunConfig config, int64_t n) {
  config.method = find_method(config.warmup_method, "--warmup-method").name;
  config.coefficient.clear();
  config.update_rule.clear();
  config.outer_batch.clear();
  resolve_method(config, n);
  return config;
}

Method build_method(const RunConfig& config, GradientOracle& oracle) {
  const MethodInfo& info = find_method(config.method, "--method");
  EstimatorOptions options;
  if (!config.coefficient.empty()) {
    options.coefficient = CoefficientSchedule::parse(config.coefficient, "--coefficient");
  }
  options.snapshot = snapshot_options(config);
  options.radius = config.radius;
  const UpdateRule::Options update{.kind = parse_update_kind(config.update_rule, "--update-rule"),
                                   .momentum = config.momentum,
                                   .weight_decay = config.weight_decay};
  return Method(
      info.make_estimator(oracle, options), UpdateRule(oracle.parameters(), update),
      {.outer_batch = parse_integer(config.outer_batch, "--outer-batch"), .inner_batch = config.inner_batch});
}

int64_t count_outer_batch(const RunConfig& config, int64_t parameters) {
  return cost_of(config, parse_integer(config.outer_batch, "--outer-batch"), parameters);
}

int64_t count_sample_gradients(const RunConfig& config, int64_t n, int64_t parameters) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (config.budget_epochs) limit = std::llround(*config.budget_epochs * static_cast<double>(n));
  const RunConfig warmup = config.warmup_epochs > 0 ? warmup_config(config, n) : config;
  int64_t spent = 0;
  for (int64_t epoch = 0; !config.epochs || epoch < *config.epochs; ++epoch) {
    const RunConfig& present = epoch < config.warmup_epochs ? warmup : config;
    const int64_t outer = parse_integer(present.outer_batch, "--outer-batch");
    const int64_t full = cost_of(present, outer, parameters);
    // What is left of a pass makes a shorter outer batch if it holds an inner one.
    const int64_t tail =
        present.sampling != "independent" && n % outer >= present.inner_batch ? n % outer : 0;
    for (int64_t i = 0; i < n / outer; ++i) {
      if (spent + full > limit) return spent;
      spent += full;
    }
    if (tail == 0) continue;
    const int64_t rest = cost_of(present, tail, parameters);
    if (spent + rest > limit) return spent;
    spent += rest;
  }
  return spent;
}

}  // namespace batchplus
