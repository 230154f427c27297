#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/config_fields.h"
#include "config/config_toml.h"
#include "config/spec.h"
#include "config/spec_table.h"
#include "util/error.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {
namespace {

using Cell = std::map<std::string, std::string>;

/// Settings joined in the order in which they count.
class Joined {
 public:
  void add(const SpecSettings& settings) {
    for (const SpecSetting& setting : settings.config) set(setting);
    if (settings.epochs_times) epochs_times_ *= *settings.epochs_times;
    if (settings.repeats) repeats = *settings.repeats;
  }
  void add_scale(const SpecSettings& settings) {
    scale_ = settings.epochs_times.value_or(1);
    if (config.budget_epochs) *config.budget_epochs *= scale_;
    for (const SpecSetting& setting : settings.config) set(setting);
    if (settings.repeats) repeats = std::min(repeats, *settings.repeats);
  }
  /// By hand: a number of epochs is meant as it stands, but for a method's factor.
  void add_last(const SpecSettings& settings) {
    add(settings);
    if (std::any_of(settings.config.begin(), settings.config.end(),
                    [](const SpecSetting& setting) { return setting.key == "epochs"; })) {
      scale_ = 1;
    }
  }
  void set(const SpecSetting& setting) {
    for (const ConfigField& field : config_fields()) {
      if (field.key == setting.key) field.set(config, setting.text, setting.where);
    }
    places[setting.key] = setting.where;
  }
  /// The scaled number of epochs is rounded before a method's factor, so that N and 1.5 N stay in proportion.
  void finish() {
    if (!config.epochs || (epochs_times_ == 1 && scale_ == 1)) return;
    const int64_t scaled = std::max<int64_t>(1, std::llround(scale_ * static_cast<double>(*config.epochs)));
    config.epochs = std::max<int64_t>(1, std::llround(epochs_times_ * static_cast<double>(scaled)));
  }

  RunConfig config;
  int64_t repeats = 1;
  std::map<std::string, std::string> places;

 private:
  double epochs_times_ = 1;
  double scale_ = 1;
};

/// The values that the chosen key takes in a cell: one empty text where nothing is chosen.
std::vector<std::string> choices_of(const Spec& spec, const Cell& cell) {
  if (!spec.choice) return {""};
  const SpecChoice& choice = *spec.choice;
  const bool is_same = !choice.same_for.labels.empty() && choice.same_for.holds(cell);
  return choice.when.holds(cell) || is_same ? choice.values : std::vector<std::string>{""};
}

/// A choice on validation data needs some.
void require_validation(const Spec& spec, const RunConfig& config) {
  if (!spec.choice || spec.choice->by != "validation_accuracy" || config.validation > 0) return;
  throw Error("there is no validation data to choose by",
              {"[choose]", spec.choice->key, "set validation = N in [base], or by = \"test_accuracy\""});
}

/// Before they are made: a million of them take gigabytes.
void require_few_runs(int64_t before, int64_t repeats) {
  if (repeats <= kMostRuns - before) return;
  throw Error("the spec has too many runs", {kRepeats, std::to_string(repeats),
                                             fmt::format("a sweep has at most {}", format_count(kMostRuns))});
}

/// Repeats count their seeds on from the first.
void require_seeds(int64_t first, int64_t repeats) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (repeats <= 1 || first <= kLast - (repeats - 1)) return;
  throw Error(fmt::format("there are no seeds beyond {}", kLast),
              {"seed", std::to_string(first), fmt::format("{} repeats need a smaller one", repeats)});
}

/// Whether both hold in some cell.
bool can_hold_together(const SpecCondition& a, const SpecCondition& b) {
  return std::all_of(a.labels.begin(), a.labels.end(), [&](const auto& entry) {
    const auto other = b.labels.find(entry.first);
    return other == b.labels.end() ||
           std::find_first_of(entry.second.begin(), entry.second.end(), other->second.begin(),
                              other->second.end()) != entry.second.end();
  });
}

/// Who says what a key is, cell by cell, where the condition holds; empty when nobody does.
std::string owner_of(const Spec& spec, const std::string& key, const SpecCondition& when) {
  if (spec.choice && spec.choice->key == key) {
    const SpecChoice& choice = *spec.choice;
    const bool is_same = !choice.same_for.labels.empty() && can_hold_together(choice.same_for, when);
    if (can_hold_together(choice.when, when) || is_same) return "[choose]";
  }
  for (const SpecAxis& axis : spec.axes) {
    for (const SpecAxisValue& value : axis.values) {
      const SpecCondition of_value{{{axis.name, {value.label}}}};
      for (const SpecSetting& setting : value.settings.config) {
        if (setting.key == key && can_hold_together(of_value, when))
          return fmt::format("the axis '{}'", axis.name);
      }
    }
  }
  return "";
}

}  // namespace

bool SpecCondition::holds(const Cell& cell) const {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& entry) {
    const auto& [axis, allowed] = entry;
    return std::find(allowed.begin(), allowed.end(), cell.at(axis)) != allowed.end();
  });
}

bool SpecScale::keeps(const Cell& cell) const {
  return only.empty() || std::any_of(only.begin(), only.end(),
                                     [&](const SpecCondition& condition) { return condition.holds(cell); });
}

const SpecScale& find_scale(const Spec& spec, const std::string& name) {
  return find_row(spec.scales, name, "scale of this spec", "scale");
}

void require_own_keys(const Spec& spec) {
  const auto check = [&](const SpecSettings& settings, const SpecCondition& when) {
    for (const SpecSetting& setting : settings.config) {
      const std::string owner = owner_of(spec, setting.key, when);
      if (owner.empty()) continue;
      throw Error("another part of the spec says what this key is, cell by cell",
                  {setting.where, setting.text,
                   fmt::format("{} sets it; change it there, or make an axis value of it", owner)});
    }
  };
  for (const SpecOverride& change : spec.overrides) check(change.settings, change.when);
  for (const SpecScale& scale : spec.scales) check(scale.settings, {});
}

void set_everywhere(Spec& spec, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw Error("not an assignment", {"set", assignment, "write {set} dataset=fashion-mnist"});
  }
  const SpecSetting setting{assignment.substr(0, equals), assignment.substr(equals + 1),
                            fmt::format("{{set}} {}", assignment.substr(0, equals))};
  std::vector<std::string> keys = spec_config_keys();
  if (setting.key == kRepeats) {
    spec.last.repeats = parse_repeats(setting.text, fmt::format("{{set}} {}", kRepeats));
    return;
  }
  for (const ConfigField& field : config_fields()) {
    if (field.key != setting.key || std::find(keys.begin(), keys.end(), field.key) == keys.end()) continue;
    RunConfig scratch;
    field.set(scratch, setting.text, fmt::format("{{set}} {}", setting.key));
    const std::string owner = owner_of(spec, setting.key, {});
    if (!owner.empty()) {
      throw Error("the spec itself says what this key is, cell by cell",
                  {fmt::format("{{set}} {}", setting.key), assignment,
                   fmt::format("{} sets it; change the spec, or leave cells out", owner)});
    }
    for (const SpecSetting& earlier : spec.last.config) {
      if (earlier.key != setting.key) continue;
      throw Error("the key is set twice",
                  {fmt::format("{{set}} {}", setting.key), assignment, "leave one out"});
    }
    spec.last.config.push_back(setting);
    return;
  }
  keys.emplace_back(kRepeats);
  throw Error("unknown key", {"set", setting.key, suggest_key(setting.key, keys)});
}

std::vector<SpecRun> expand(const Spec& spec, const std::string& scale_name) {
  const SpecScale& scale = find_scale(spec, scale_name);
  std::vector<SpecRun> runs;
  std::vector<size_t> position(spec.axes.size(), 0);
  for (bool is_done = false; !is_done;) {
    Cell cell;
    Joined joined;
    joined.add(spec.base);
    for (size_t i = 0; i < spec.axes.size(); ++i) {
      const SpecAxisValue& value = spec.axes[i].values[position[i]];
      cell[spec.axes[i].name] = value.label;
      joined.add(value.settings);
    }
    const bool is_excluded = std::any_of(spec.excludes.begin(), spec.excludes.end(),
                                         [&](const SpecCondition& exclude) { return exclude.holds(cell); });
    if (!is_excluded && scale.keeps(cell)) {
      for (const SpecOverride& change : spec.overrides) {
        if (change.when.holds(cell)) joined.add(change.settings);
      }
      joined.add_scale(scale.settings);
      joined.add_last(spec.last);
      joined.finish();
      require_validation(spec, joined.config);
      for (const std::string& choice : choices_of(spec, cell)) {
        if (!choice.empty()) joined.set({spec.choice->key, choice, spec.choice->where});
        require_few_runs(static_cast<int64_t>(runs.size()), joined.repeats);
        require_seeds(joined.config.seed, joined.repeats);
        for (int64_t repeat = 0; repeat < joined.repeats; ++repeat) {
          RunConfig config = joined.config;
          config.seed += repeat;
          runs.push_back({config_id(config), cell, choice, config, joined.places});
        }
      }
    }
    // The last axis turns fastest.
    is_done = true;
    for (size_t i = spec.axes.size(); i-- > 0;) {
      if (++position[i] < spec.axes[i].values.size()) {
        is_done = false;
        break;
      }
      position[i] = 0;
    }
  }
  if (runs.empty()) {
    throw Error("the spec has no runs at this scale", {"scale", scale_name, "everything is excluded"});
  }
  return runs;
}

}  // namespace batchplus
