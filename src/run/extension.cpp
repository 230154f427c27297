#include "run/extension.h"

#include <fmt/format.h>

#include "config/config_toml.h"
#include "config/sweep_file.h"
#include "store/sweep_directory.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr const char* kRunAnew = "train the longer run in a directory of its own";

[[noreturn]] void refuse(const std::string& why, const std::string& where, const std::string& value) {
  throw Error("the run cannot be extended: " + why, {where, value, kRunAnew});
}

/// Epochs or budget that a config allows.
double limit_of(const RunConfig& config) {
  return config.epochs ? static_cast<double>(*config.epochs) : config.budget_epochs.value_or(0);
}

/// Nothing that the run did may depend on how long it was meant to be.
void require_no_progress(const RunPlan& plan) {
  if (plan.train.schedule.depends_on_progress()) {
    refuse("its learning rate depends on how long it is", "schedule", plan.complete.schedule);
  }
  const auto require_fixed = [](const MethodPlan& method, const std::string& value) {
    if (!method.estimator.coefficient.depends_on_progress()) return;
    refuse("the coefficient depends on how long it is", method.info.name, value);
  };
  require_fixed(plan.method, plan.complete.coefficient);
  if (plan.warmup_method) require_fixed(*plan.warmup_method, plan.warmup_method->info.coefficient);
}

/// A sweep calls the run by what it is, and would go on to show the longer one under that name.
void require_no_sweep(const RunLayout& layout, const std::string& value) {
  const auto sweep = SweepDirectory::holding(layout.root);
  if (!sweep) return;
  const std::string id = std::filesystem::weakly_canonical(layout.root).filename().string();
  if (find_run(read_sweep_file(sweep->description()), id) == nullptr) return;
  refuse("it is one of a sweep, whose runs are what its spec says", layout.root.string(), value);
}

/// The end of a run has a record of its own, which the longer run would not have there.
void require_whole_epochs(const RunPlan& plan, const TrainState& end) {
  if (end.last.epochs_done != static_cast<double>(end.epoch_index)) {
    refuse("its budget ended within an epoch", "budget_epochs",
           fmt::format("{} epochs are done", format_number(end.last.epochs_done)));
  }
  const auto require_due = [&](const char* key, int64_t every) {
    if (end.epoch_index % every == 0) return;
    refuse(fmt::format("after its last epoch, {}, a longer run would have no such record", end.epoch_index),
           key, std::to_string(every));
  };
  require_due("eval_every", plan.eval_every);
  if (!plan.metric_groups.empty()) require_due("metrics_every", plan.metrics_every);
}

}  // namespace

bool extend(const RunPlan& plan, const RunLayout& layout, Continuation& run) {
  if (run.config.epochs && run.config.budget_epochs) {
    refuse("it has two limits, epochs and a budget", "budget_epochs",
           format_number(*run.config.budget_epochs));
  }
  BATCHPLUS_CHECK(run.config.epochs.has_value() == plan.complete.epochs.has_value(),
                  "the longer run has a limit of the same kind");
  const double asked = limit_of(plan.complete);
  const double before = limit_of(run.config);
  if (asked == before) return false;
  const std::string shown = format_number(asked);
  if (asked < before) {
    throw Error("the run is longer than that",
                {"extend", shown, fmt::format("it has {}: give more", format_number(before))});
  }
  require_no_sweep(layout, shown);
  const std::string status = run.result.is_object() ? run.result.value("status", "") : "";
  if (status == "diverged") refuse("it diverged", layout.root.string(), shown);
  require_no_progress(plan);
  if (!run.checkpoint) {
    if (run.config.checkpoint_every == "never")
      refuse("it kept no checkpoint", "checkpoint_every", run.config.checkpoint_every);
    refuse("its checkpoint is missing", layout.checkpoint().string(), shown);
  }
  if (run.checkpoint->train.is_over) require_whole_epochs(plan, run.checkpoint->train);

  run.config = parse_run_config(run.checkpoint->identity.config, layout.checkpoint().string());
  run.config.epochs = plan.complete.epochs;
  run.config.budget_epochs = plan.complete.budget_epochs;
  run.checkpoint->identity.config = result_toml(plan.complete);
  run.checkpoint->train.is_over = false;
  run.result = nullptr;
  return true;
}

}  // namespace batchplus
