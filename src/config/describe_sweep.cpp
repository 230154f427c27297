#include <fmt/format.h>

#include <algorithm>

#include "config/sweep_file.h"
#include "util/text.h"

namespace batchplus {
namespace {

using Labels = std::vector<std::string>;

Labels labels_of(const Spec& spec, const std::map<std::string, std::string>& cell, const RunConfig& config) {
  if (spec.axes.empty()) return {config.method};
  Labels labels;
  for (const SpecAxis& axis : spec.axes) labels.push_back(cell.at(axis.name));
  return labels;
}

/// The cell whose runs decide which value counts: itself, or with `same_for` the one that `when` names.
Labels decider_of(const Spec& spec, const SpecRun& run) {
  std::map<std::string, std::string> cell = run.cell;
  const SpecChoice& choice = *spec.choice;
  if (!choice.when.holds(cell)) {
    for (const auto& [axis, labels] : choice.same_for.labels)
      cell[axis] = choice.when.labels.at(axis).front();
  }
  return labels_of(spec, cell, run.config);
}

bool has_cell(const SweepFile& sweep, const Labels& labels) {
  return std::any_of(sweep.runs.begin(), sweep.runs.end(),
                     [&](const SweepFile::Run& run) { return run.labels == labels; });
}

/// What a scale changes, in words.
std::string describe_scale(const SpecScale& scale) {
  std::vector<std::string> parts;
  const SpecSettings& settings = scale.settings;
  if (settings.epochs_times)
    parts.push_back(fmt::format("{} times the epochs", format_number(*settings.epochs_times)));
  if (settings.repeats)
    parts.push_back(fmt::format("at most {} seed{}", *settings.repeats, *settings.repeats == 1 ? "" : "s"));
  for (const SpecSetting& setting : settings.config)
    parts.push_back(fmt::format("{} = {}", setting.key, setting.text));
  std::vector<std::string> conditions;
  for (const SpecCondition& condition : scale.only) {
    std::vector<std::string> axes;
    for (const auto& [axis, labels] : condition.labels)
      axes.push_back(fmt::format("{} only {}", axis, join(labels, ", ")));
    conditions.push_back(join(axes, " and "));
  }
  if (!conditions.empty()) parts.push_back(join(conditions, ", or "));
  return parts.empty() ? "" : fmt::format("less than the whole: {}.", join(parts, "; "));
}

/// What set_everywhere set.
std::vector<SpecSetting> set_by_hand(const Spec& spec) {
  std::vector<SpecSetting> settings = spec.last.config;
  if (spec.last.repeats) settings.push_back({"repeats", std::to_string(*spec.last.repeats), ""});
  return settings;
}

std::string describe_settings(const Spec& spec) {
  std::vector<std::string> parts;
  for (const SpecSetting& setting : set_by_hand(spec))
    parts.push_back(fmt::format("{} = {}", setting.key, setting.text));
  return parts.empty() ? "" : fmt::format("set by hand: {}.", join(parts, ", "));
}

/// The spec's axes with the labels that the scale left in.
std::vector<SweepFile::Axis> axes_in_use(const Spec& spec, const SweepFile& sweep) {
  if (spec.axes.empty()) return {{"method", sweep.runs.front().labels}};
  std::vector<SweepFile::Axis> axes;
  for (size_t a = 0; a < spec.axes.size(); ++a) {
    SweepFile::Axis axis{spec.axes[a].name, {}};
    for (const SpecAxisValue& value : spec.axes[a].values) {
      const bool is_used = std::any_of(sweep.runs.begin(), sweep.runs.end(), [&](const SweepFile::Run& run) {
        return run.labels[a] == value.label;
      });
      if (is_used) axis.labels.push_back(value.label);
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace

std::vector<std::string> settings_by_hand(const Spec& spec) {
  std::vector<std::string> settings;
  for (const SpecSetting& setting : set_by_hand(spec))
    settings.push_back(fmt::format("{}={}", setting.key, setting.text));
  return settings;
}

SweepFile describe_sweep(const Spec& spec, const std::string& scale, const std::vector<SpecRun>& runs) {
  std::vector<std::string> notes = {describe_scale(find_scale(spec, scale)), describe_settings(spec)};
  std::erase(notes, "");
  SweepFile sweep{
      .name = spec.name, .title = spec.title, .scale = scale, .note = join(notes, " "), .settings = {}};
  sweep.settings = settings_by_hand(spec);
  if (spec.choice) {
    sweep.choice_key = spec.choice->key;
    sweep.choice_by = spec.choice->by;
  }
  sweep.report = spec.report;
  for (const SpecRun& run : runs) {
    SweepFile::Run row{run.id, run.config.seed, labels_of(spec, run.cell, run.config), run.choice};
    if (!run.choice.empty()) row.decided_by = decider_of(spec, run);
    sweep.runs.push_back(std::move(row));
  }
  // Where a scale left the deciding cell out, each decides for itself.
  for (SweepFile::Run& run : sweep.runs) {
    if (!run.choice.empty() && !has_cell(sweep, run.decided_by)) run.decided_by = run.labels;
  }
  sweep.axes = axes_in_use(spec, sweep);
  for (const auto& [quantity, cells] : spec.published) {
    for (const auto& [labels, value] : cells) {
      if (has_cell(sweep, labels)) sweep.published.push_back({quantity, labels, value});
    }
  }
  return sweep;
}

}  // namespace batchplus
