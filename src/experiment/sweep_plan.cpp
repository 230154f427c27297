#include "experiment/sweep_plan.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "data/registry.h"
#include "experiment/memory_estimate.h"
#include "experiment/method_config.h"
#include "objective/gradient_oracle.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Training samples of a config, from the published sizes where they are known.
int64_t training_samples(const RunConfig& config) {
  const DatasetInfo info = find_dataset(config.dataset);
  int64_t all = info.train_samples;
  if (all == 0) all = load_dataset(info, data_directory(config.data_dir)).train.size();
  const int64_t left = all - config.validation;
  if (config.train_limit > left) {
    throw Error("wrong number of samples",
                {"train_limit", std::to_string(config.train_limit), fmt::format("there are {}", left)});
  }
  return config.train_limit > 0 ? config.train_limit : left;
}

/// Parameters of each network, counted once.
class ParameterCounts {
 public:
  int64_t of(const RunConfig& config) {
    const DatasetInfo info = find_dataset(config.dataset);
    const std::string key = fmt::format("{}/{}/{}/{}", config.model, info.channels, info.side, info.classes);
    const auto [count, is_new] = counts_.try_emplace(key, 0);
    if (is_new) {
      const Model model = network_of(config, info);
      for (const auto& parameter : model.module->parameters()) count->second += parameter.numel();
    }
    return count->second;
  }

 private:
  std::map<std::string, int64_t> counts_;
};

/// The cell without one of its axes, as a key.
std::string cell_without(const SpecRun& run, const std::string& axis) {
  std::string key;
  for (const auto& [name, label] : run.cell) {
    if (name != axis) key += fmt::format("{}={};", name, label);
  }
  return key;
}

/// A run with what its cost depends on.
struct Counted {
  PlannedRun planned;
  int64_t n = 0;
  int64_t parameters = 0;
  int64_t outer_batch_cost = 0;

  void count() {
    RunConfig config = planned.run.config;
    resolve_method(config, n);
    outer_batch_cost = count_outer_batch(config, parameters);
    planned.sample_gradients = count_sample_gradients(config, n, parameters);
    planned.gradient_evaluations =
        static_cast<double>(planned.sample_gradients) / static_cast<double>(config.inner_batch);
  }
};

/// What is left over of each pass may make an epoch of one method a little dearer than its share. Runs that
/// cost up to a hundredth more than the cheapest of their cell end when its budget is spent; more is an
/// Error.
void make_budgets_equal(const Spec& spec, std::vector<Counted>& runs) {
  if (spec.equal_budget_axis.empty()) return;
  std::map<std::string, size_t> cheapest;
  for (size_t i = 0; i < runs.size(); ++i) {
    size_t& best =
        cheapest.try_emplace(cell_without(runs[i].planned.run, spec.equal_budget_axis), i).first->second;
    if (runs[i].planned.sample_gradients < runs[best].planned.sample_gradients) best = i;
  }
  for (Counted& run : runs) {
    const std::string cell = cell_without(run.planned.run, spec.equal_budget_axis);
    const Counted& least = runs[cheapest.at(cell)];
    const int64_t budget = least.planned.sample_gradients;
    const int64_t excess = run.planned.sample_gradients - budget;
    if (excess <= std::max(run.outer_batch_cost, least.outer_batch_cost)) continue;
    constexpr int64_t kHundredth = 100;
    if (excess > budget / kHundredth) {
      const auto describe = [&](const Counted& one) {
        return fmt::format("{} {}", one.planned.run.cell.at(spec.equal_budget_axis),
                           format_count(one.planned.sample_gradients));
      };
      throw Error("budgets that should be equal are not",
                  {cell, fmt::format("sample gradients: {}, {}", describe(least), describe(run)),
                   "set epochs_times so that they are"});
    }
    run.planned.run.config.budget_epochs = static_cast<double>(budget) / static_cast<double>(run.n);
    run.planned.run.id = config_id(run.planned.run.config);
    run.count();
  }
}

}  // namespace

std::vector<PlannedRun> plan_sweep(const Spec& spec, const std::string& scale) {
  ParameterCounts parameters;
  std::vector<Counted> runs;
  for (SpecRun& run : expand(spec, scale)) {
    Counted counted;
    counted.n = training_samples(run.config);
    counted.parameters = parameters.of(run.config);
    counted.planned.run = std::move(run);
    counted.count();
    runs.push_back(std::move(counted));
  }
  make_budgets_equal(spec, runs);
  std::vector<PlannedRun> planned;
  for (Counted& run : runs) planned.push_back(std::move(run.planned));
  return planned;
}

void calibrate(std::vector<PlannedRun>& runs, torch::Device device) {
  struct Figures {
    double seconds_per_sample = 0;
    NetworkMemory memory;
  };
  std::map<std::string, Figures> known;
  for (PlannedRun& row : runs) {
    const RunConfig& config = row.run.config;
    const DatasetInfo info = find_dataset(config.dataset);
    // A gradient of a larger batch takes no less a sample.
    const int64_t batch = std::min<int64_t>(config.inner_batch, 128);
    const std::string key = fmt::format("{}/{}/{}/{}", config.model, config.kernels, info.name, batch);
    const auto [figures, is_new] = known.try_emplace(key);
    if (is_new) {
      const Model model = network_of(config, info);
      figures->second.memory = measure_network_memory(model, info);
      model.module->to(device);
      FlatParameters parameters(*model.module);
      GradientBudget budget;
      GradientOracle oracle(model, parameters, budget);
      const torch::Tensor gradient = oracle.make_vector();
      const auto images = torch::zeros({batch, info.channels, info.side, info.side}, device);
      const Batch samples{images.contiguous(model.memory_format),
                          torch::zeros({batch}, torch::TensorOptions(torch::kInt64).device(device))};
      oracle.gradient(samples, gradient);
      const Stopwatch stopwatch;
      oracle.gradient(samples, gradient);
      figures->second.seconds_per_sample = stopwatch.seconds() / static_cast<double>(batch);
    }
    row.estimated_seconds = figures->second.seconds_per_sample * static_cast<double>(row.sample_gradients);
    row.memory_bytes = estimate_memory(config, training_samples(config), info, figures->second.memory);
  }
}

}  // namespace batchplus
