#include "run/unread_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_fields.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Of the run and its warm-up.
std::vector<const MethodPlan*> methods_of(const RunPlan& plan) {
  std::vector<const MethodPlan*> all = {&plan.method};
  if (plan.warmup_method) all.push_back(&*plan.warmup_method);
  return all;
}

bool reads(const MethodInfo& method, const std::string& key) {
  return std::find(method.reads.begin(), method.reads.end(), key) != method.reads.end();
}

/// What to do about a key that only some methods read; empty when this run's do, or when all do.
std::string unread_by_methods(const RunPlan& plan, const std::string& key) {
  std::vector<std::string> readers;
  for (const MethodInfo& method : methods()) {
    if (reads(method, key)) readers.push_back(method.name);
  }
  const auto used = methods_of(plan);
  const bool is_read =
      readers.empty() || std::any_of(used.begin(), used.end(),
                                     [&](const MethodPlan* method) { return reads(method->info, key); });
  return is_read ? "" : fmt::format("leave it out, or choose one of {}", join(readers, ", "));
}

/// What to do about a key that changes nothing; empty when it counts.
std::string hint_for(const RunPlan& plan, const std::string& key) {
  if (key == "momentum") {
    const auto used = methods_of(plan);
    const bool is_read = std::any_of(used.begin(), used.end(), [](const MethodPlan* method) {
      return find_update_rule(method->update.rule, "update_rule").has_momentum;
    });
    return is_read ? "" : kNoMomentumHint;
  }
  if ((key == "warmup_lr" || key == "warmup_method") && !plan.warmup_method) {
    return "there is no warm-up: leave it out, or give {warmup_epochs} too";
  }
  return unread_by_methods(plan, key);
}

/// The same for what says how to measure.
std::string hint_for_measuring(const RunPlan& plan, const ConfigField& field) {
  const bool is_asked = field.topic == ConfigField::Topic::kMetrics && field.key != "metrics";
  return is_asked && plan.metric_groups.empty() ? "nothing is measured: leave it out, or give {metrics} too"
                                                : "";
}

}  // namespace

void require_read(const RunPlan& plan, const std::vector<std::string>& keys) {
  for (const ConfigField& field : config_fields()) {
    if (std::find(keys.begin(), keys.end(), field.key) == keys.end()) continue;
    std::string hint = hint_for(plan, field.key);
    if (hint.empty()) hint = hint_for_measuring(plan, field);
    if (hint.empty()) continue;
    throw Error(fmt::format("with {} the option changes nothing", plan.method.info.name),
                {field.key, field.get(plan.complete), hint});
  }
}

}  // namespace batchplus
