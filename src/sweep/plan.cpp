#include "sweep/plan.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/config_toml.h"
#include "objective/gradient_oracle.h"
#include "run/memory_estimate.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// What is known of each dataset and network, found out once.
class Known {
 public:
  const DatasetInfo& dataset(const RunConfig& config) {
    const auto [entry, is_new] = datasets_.try_emplace(config.dataset);
    if (is_new) entry->second = find_dataset(config.dataset);
    return entry->second;
  }

  int64_t parameters(const RunPlan& plan) {
    const NetworkOptions& options = plan.network.options;
    const std::string key = fmt::format("{}/{}/{}/{}/{}", plan.complete.model, plan.complete.normalization,
                                        options.channels, options.side, options.classes);
    const auto [count, is_new] = parameters_.try_emplace(key, 0);
    if (is_new) count->second = count_parameters(*build_network(plan.network).module);
    return count->second;
  }

 private:
  std::map<std::string, DatasetInfo> datasets_;
  std::map<std::string, int64_t> parameters_;
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
  PlannedRun planned = {};
  int64_t n = 0;
  int64_t outer_batch_cost = 0;
};

/// The plan of a run. What is wrong with its config is told with the place where the spec says so.
RunPlan plan_of(const SpecRun& run, Known& known) {
  try {
    return resolve(run.config, known.dataset(run.config));
  } catch (const Error& problem) {
    Error::Details details = problem.details();
    const auto place = run.places.find(details.where);
    if (place != run.places.end()) details.where = place->second;
    throw Error(problem.summary(), details, problem.exit_code());
  }
}

Counted count_cost(SpecRun run, Known& known) {
  const auto shared = std::make_shared<const RunPlan>(plan_of(run, known));
  const RunPlan& plan = *shared;
  const int64_t parameters = known.parameters(plan);
  Counted counted{.n = plan.data.train_samples,
                  .outer_batch_cost = plan.method.cost(plan.method.sizes.outer_batch, parameters)};
  counted.planned.run = std::move(run);
  counted.planned.plan = shared;
  counted.planned.sample_gradients = count_sample_gradients(plan, parameters);
  counted.planned.gradient_evaluations = static_cast<double>(counted.planned.sample_gradients) /
                                         static_cast<double>(plan.method.sizes.inner_batch);
  return counted;
}

/// What is left over of each pass may make an epoch of one method a little dearer than its share. Runs that
/// cost up to a hundredth more than the cheapest of their cell end when its budget is spent; more is an
/// Error.
void make_budgets_equal(const Spec& spec, std::vector<Counted>& runs, Known& known) {
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
                  {cell.empty() ? "equal_budget" : fmt::format("equal_budget, {}", cell),
                   fmt::format("sample gradients: {}, {}", describe(least), describe(run)),
                   "set epochs_times so that they are"});
    }
    SpecRun limited = run.planned.run;
    limited.config.budget_epochs = static_cast<double>(budget) / static_cast<double>(run.n);
    limited.id = config_id(limited.config);
    run = count_cost(std::move(limited), known);
  }
}

/// Seconds of a gradient on this machine, a sample, the first one left out.
double time_gradient(const Model& model, const NetworkOptions& options, int64_t batch, torch::Device device) {
  FlatParameters parameters(*model.module);
  GradientBudget budget;
  GradientOracle oracle(model, parameters, budget);
  const torch::Tensor gradient = oracle.make_vector();
  const auto images = torch::zeros({batch, options.channels, options.side, options.side}, device);
  const Batch samples{images.contiguous(model.memory_format),
                      torch::zeros({batch}, torch::TensorOptions(torch::kInt64).device(device))};
  oracle.gradient(samples, gradient);
  const Stopwatch stopwatch;
  oracle.gradient(samples, gradient);
  return stopwatch.seconds() / static_cast<double>(batch);
}

}  // namespace

std::vector<PlannedRun> plan_sweep(const Spec& spec, const std::string& scale) {
  Known known;
  std::vector<Counted> runs;
  for (SpecRun& run : expand(spec, scale)) runs.push_back(count_cost(std::move(run), known));
  make_budgets_equal(spec, runs, known);
  std::vector<PlannedRun> planned;
  for (Counted& run : runs) planned.push_back(std::move(run.planned));
  return planned;
}

void calibrate(std::vector<PlannedRun>& runs, torch::Device device) {
  struct Figures {
    double seconds_per_sample = 0;
    NetworkMemory memory;
  };
  std::map<std::string, Figures> timed;
  for (PlannedRun& row : runs) {
    const RunConfig& config = row.run.config;
    const RunPlan& plan = *row.plan;
    // A gradient of a larger batch takes no less a sample.
    const int64_t batch = std::min<int64_t>(config.inner_batch, 128);
    const std::string key = fmt::format("{}/{}/{}/{}/{}", config.model, config.normalization, config.kernels,
                                        config.dataset, batch);
    const auto [figures, is_new] = timed.try_emplace(key);
    if (is_new) {
      const Model model = build_network(plan.network);
      figures->second.memory = measure_network_memory(model, plan.data.dataset);
      model.module->to(device);
      figures->second.seconds_per_sample = time_gradient(model, plan.network.options, batch, device);
    }
    row.estimated_seconds = figures->second.seconds_per_sample * static_cast<double>(row.sample_gradients);
    row.memory_bytes = estimate_memory(plan, figures->second.memory);
  }
}

}  // namespace batchplus
