#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/config_fields.h"
#include "config/parse_toml.h"
#include "config/spec.h"
#include "config/spec_table.h"
#include "util/error.h"
#include "util/file.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Every config key of the table, each checked by setting it.
SpecSettings read_settings(const SpecTable& reader) {
  SpecSettings settings;
  for (const auto& [key, node] : reader.table()) {
    const std::string name(key.str());
    const std::string where = reader.where(key);
    if (name == "epochs_times") {
      const std::string text = scalar_text(node, where, name);
      settings.epochs_times = parse_number(text, where);
      if (!(*settings.epochs_times > 0) || !std::isfinite(*settings.epochs_times))
        throw Error("value out of range",
                    {where, text, "epochs_times must be a finite number, more than zero"});
      continue;
    }
    if (name == kRepeats) {
      settings.repeats = parse_repeats(scalar_text(node, where, name), where);
      continue;
    }
    const auto& fields = config_fields();
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const ConfigField& row) { return row.key == name; });
    if (field == fields.end()) continue;
    RunConfig scratch;
    const std::string place = fmt::format("{}, {}", where, name);
    const std::string text = scalar_text(node, where, name);
    field->set(scratch, text, place);
    settings.config.push_back({name, text, place});
  }
  return settings;
}

/// {axis = "label"} or {axis = ["label", ...]}, checked against the axes.
SpecCondition read_condition(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  SpecCondition condition;
  std::vector<std::string> names;
  for (const SpecAxis& axis : axes) names.push_back(axis.name);
  for (const auto& [key, node] : reader.table()) {
    const std::string name(key.str());
    const std::string where = reader.where(key);
    const auto axis = std::find_if(axes.begin(), axes.end(),
                                   [&](const SpecAxis& candidate) { return candidate.name == name; });
    if (axis == axes.end()) throw Error("there is no such axis", {where, name, suggest_name(name, names)});
    std::vector<std::string> known;
    for (const SpecAxisValue& value : axis->values) known.push_back(value.label);
    std::vector<std::string>& labels = condition.labels[name];
    const auto add = [&](const toml::node& element) {
      const std::string label = scalar_text(element, where, name);
      if (std::find(known.begin(), known.end(), label) == known.end()) {
        throw Error("the axis has no such label", {where, label, suggest_name(label, known)});
      }
      labels.push_back(label);
    };
    if (const auto* list = node.as_array()) {
      for (const auto& element : *list) add(element);
    } else {
      add(node);
    }
  }
  return condition;
}

SpecCondition read_when(const SpecTable& reader, const std::string& name, const std::vector<SpecAxis>& axes) {
  const auto when = reader.inner_table(name);
  return when ? read_condition(*when, axes) : SpecCondition{};
}

/// A heading of tables: without one nobody could tell what stands below it.
std::string required_name(const SpecTable& reader, const std::string& key) {
  const std::string name = reader.required_text(key);
  if (name.find_first_not_of(' ') == std::string::npos)
    throw Error("a name is empty", {reader.place_of(key), fmt::format("\"{}\"", name), "name it in a word"});
  return name;
}

SpecAxis read_axis(const SpecTable& reader) {
  reader.allow({"name", "value"}, false);
  SpecAxis axis{required_name(reader, "name"), {}};
  std::set<std::string> labels;
  for (const SpecTable& row : reader.tables("value")) {
    row.allow({"label", "epochs_times", "repeats"}, true);
    SpecAxisValue value{required_name(row, "label"), read_settings(row)};
    if (!labels.insert(value.label).second) {
      throw Error("two values of an axis have the same label", {row.where(), value.label, "name them apart"});
    }
    axis.values.push_back(std::move(value));
  }
  if (axis.values.empty()) {
    throw Error("an axis without values", {reader.where(), axis.name, "add [[axis.value]] below it"});
  }
  return axis;
}

/// No key may be set by two axes: which one counts would depend on their order.
void require_separate_keys(const std::vector<SpecAxis>& axes) {
  std::map<std::string, std::pair<std::string, std::string>> owners;
  for (const SpecAxis& axis : axes) {
    for (const SpecAxisValue& value : axis.values) {
      for (const SpecSetting& setting : value.settings.config) {
        const auto [owner, is_new] = owners.try_emplace(setting.key, axis.name, setting.where);
        if (is_new || owner->second.first == axis.name) continue;
        throw Error("two axes set one key",
                    {setting.where, fmt::format("'{}' and '{}'", owner->second.first, axis.name),
                     "put it on one of them"});
      }
    }
  }
}

/// The cell that decides for another one has one label on each axis that `same_for` names.
void require_decider(const SpecTable& reader, const SpecChoice& choice) {
  for (const auto& [axis, labels] : choice.same_for.labels) {
    const auto decider = choice.when.labels.find(axis);
    if (decider != choice.when.labels.end() && decider->second.size() == 1) continue;
    throw Error("it is not clear which cell decides",
                {reader.place_of("same_for"), axis, fmt::format("let 'when' name one label of {}", axis)});
  }
}

/// Each checked by setting it, and none twice: its runs would count twice.
void read_choice_values(const SpecTable& reader, const toml::array& list, SpecChoice& choice) {
  const auto& fields = config_fields();
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const ConfigField& row) { return row.key == choice.key; });
  choice.where = fmt::format("{}, {}", reader.place_of("values"), choice.key);
  std::set<std::string> seen;
  for (const auto& value : list) {
    const std::string where = reader.position(value.source().begin);
    const std::string text = scalar_text(value, where, "values");
    RunConfig scratch;
    field->set(scratch, text, fmt::format("{}, {}", where, choice.key));
    if (!seen.insert(field->get(scratch)).second)
      throw Error("a value to choose from stands there twice", {where, text, "leave one of them out"});
    choice.values.push_back(text);
  }
}

SpecChoice read_choice(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  reader.allow({"key", "values", "when", "same_for", "by"}, false);
  SpecChoice choice;
  choice.key = reader.required_text("key");
  const std::vector<std::string> keys = spec_config_keys();
  if (std::find(keys.begin(), keys.end(), choice.key) == keys.end()) {
    throw Error("unknown key", {reader.place_of("key"), choice.key, suggest_name(choice.key, keys)});
  }
  const auto* values = reader.table().get("values");
  const auto* list = values == nullptr ? nullptr : values->as_array();
  if (list == nullptr || list->empty()) {
    throw Error("nothing to choose from", {reader.where(), "values", "write values = [0.5, 1.0]"});
  }
  read_choice_values(reader, *list, choice);
  choice.when = read_when(reader, "when", axes);
  choice.same_for = read_when(reader, "same_for", axes);
  require_decider(reader, choice);
  choice.by = reader.text("by", "validation_accuracy");
  if (choice.by != "validation_accuracy" && choice.by != "test_accuracy") {
    throw Error("not one of the choices",
                {reader.place_of("by"), choice.by, "validation_accuracy or test_accuracy"});
  }
  return choice;
}

/// One condition, or a list of them.
std::vector<SpecCondition> read_only(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  if (!reader.has("only")) return {};
  if (!reader.table().get("only")->is_array()) return {read_when(reader, "only", axes)};
  std::vector<SpecCondition> conditions;
  for (const SpecTable& row : reader.tables("only")) conditions.push_back(read_condition(row, axes));
  return conditions;
}

SpecScale read_scale(const std::string& name, const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  reader.allow({"only", "epochs_times", "budget_epochs", "repeats", "train_limit", "test_limit", "validation",
                "metrics_samples", "metrics_every", "eval_every"},
               false);
  return {name, read_settings(reader), read_only(reader, axes)};
}

/// "label/label/..." = mean or [mean, std].
PublishedCells read_published_cells(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  PublishedCells published;
  for (const auto& [key, node] : reader.table()) {
    if (node.is_table()) continue;
    const std::string name(key.str());
    const std::string where = reader.where(key);
    const auto labels = split(name, '/');
    bool is_cell = labels.size() == axes.size();
    for (size_t i = 0; is_cell && i < axes.size(); ++i) {
      is_cell = std::any_of(axes[i].values.begin(), axes[i].values.end(),
                            [&](const SpecAxisValue& value) { return value.label == labels[i]; });
    }
    if (!is_cell) {
      std::vector<std::string> names;
      for (const SpecAxis& axis : axes) names.push_back(axis.name);
      throw Error("not a cell of the grid", {where, name, "a label of each axis: " + join(names, "/")});
    }
    const auto number = [&](const toml::node& element) {
      return parse_number(scalar_text(element, where, name), where);
    };
    PublishedValue value;
    if (const auto* list = node.as_array()) {
      if (list->size() != 2) throw Error("wrong type", {where, name, "expected a mean, or [mean, std]"});
      value = {number(*list->get(0)), number(*list->get(1))};
    } else {
      value.mean = number(node);
    }
    published[labels] = value;
  }
  return published;
}

/// Test accuracies, and each other quantity in a table of its own: [published.seconds].
std::map<std::string, PublishedCells> read_published(const SpecTable& reader,
                                                     const std::vector<SpecAxis>& axes) {
  std::map<std::string, PublishedCells> published = {{"test_accuracy", read_published_cells(reader, axes)}};
  for (const auto& [key, node] : reader.table()) {
    const std::string name(key.str());
    if (node.is_table()) published[name] = read_published_cells(*reader.inner_table(name), axes);
  }
  return published;
}

ReportOptions read_report(const SpecTable& reader) {
  reader.allow({"tables", "curves", "x", "smooth", "at_loss"}, false);
  ReportOptions report;
  report.tables = reader.texts("tables", report.tables);
  report.curves = reader.texts("curves", report.curves);
  report.x = reader.text("x", report.x);
  if (reader.has("x")) find_row(x_axes(), report.x, "x axis", reader.place_of("x"));
  if (const auto* smooth = reader.table().get("smooth")) {
    const std::string where = reader.place_of("smooth");
    const std::string text = scalar_text(*smooth, where, "smooth");
    report.smooth = require_window(parse_integer(text, where), where);
  }
  if (reader.has("at_loss")) {
    report.at_loss = parse_loss_levels(reader.texts("at_loss", {}), reader.place_of("at_loss"));
  }
  return report;
}

/// The same grid under another title, perhaps with less in it.
Spec read_extended(const SpecTable& reader, const std::string& where) {
  reader.allow({"title", "extends", "exclude", "report"}, false);
  const std::filesystem::path other = std::filesystem::path(where).parent_path() / reader.text("extends", "");
  if (std::filesystem::weakly_canonical(other) == std::filesystem::weakly_canonical(where)) {
    throw Error("a spec extends itself",
                {reader.place_of("extends"), reader.text("extends", ""), "name another one"});
  }
  return read_spec(other);
}

std::vector<SpecAxis> read_axes(const SpecTable& reader) {
  std::vector<SpecAxis> axes;
  std::set<std::string> names;
  for (const SpecTable& axis : reader.tables("axis")) {
    axes.push_back(read_axis(axis));
    if (names.insert(axes.back().name).second) continue;
    throw Error("two axes have the same name", {axis.where(), axes.back().name, "name them apart"});
  }
  require_separate_keys(axes);
  return axes;
}

std::string read_equal_budget(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  if (!reader.has("equal_budget")) return "";
  const std::string axis = reader.text("equal_budget", "");
  std::vector<std::string> names;
  for (const SpecAxis& row : axes) names.push_back(row.name);
  if (std::find(names.begin(), names.end(), axis) != names.end()) return axis;
  throw Error("there is no such axis", {reader.place_of("equal_budget"), axis, suggest_name(axis, names)});
}

/// One, called "full", when the file has none.
std::vector<SpecScale> read_scales(const SpecTable& reader, const std::vector<SpecAxis>& axes) {
  std::vector<SpecScale> scales;
  if (const auto tables = reader.inner_table("scale")) {
    for (const auto& [key, node] : tables->table()) {
      const std::string name(key.str());
      scales.push_back(read_scale(name, *tables->inner_table(name), axes));
    }
  }
  if (scales.empty()) scales.push_back({.name = "full"});
  return scales;
}

/// The grid and what is published of it.
Spec read_grid(const SpecTable& reader) {
  reader.allow({"title", "equal_budget", "base", "axis", "override", "exclude", "choose", "scale",
                "published", "report"},
               false);
  Spec spec;
  if (const auto base = reader.inner_table("base")) {
    base->allow({"repeats"}, true);
    spec.base = read_settings(*base);
  }
  spec.axes = read_axes(reader);
  for (const SpecTable& row : reader.tables("override")) {
    row.allow({"when", "epochs_times", "repeats"}, true);
    spec.overrides.push_back({read_when(row, "when", spec.axes), read_settings(row)});
  }
  if (const auto choice = reader.inner_table("choose")) spec.choice = read_choice(*choice, spec.axes);
  spec.equal_budget_axis = read_equal_budget(reader, spec.axes);
  spec.scales = read_scales(reader, spec.axes);
  if (const auto published = reader.inner_table("published"))
    spec.published = read_published(*published, spec.axes);
  require_own_keys(spec);
  return spec;
}

}  // namespace

Spec parse_spec(std::string_view text, const std::string& where) {
  const toml::table table = parse_toml(text, where);
  const SpecTable reader(table, where);
  Spec spec = reader.has("extends") ? read_extended(reader, where) : read_grid(reader);
  spec.title = reader.required_text("title");
  for (const SpecTable& row : reader.tables("exclude"))
    spec.excludes.push_back(read_condition(row, spec.axes));
  if (const auto report = reader.inner_table("report")) spec.report = read_report(*report);
  return spec;
}

Spec read_spec(const std::filesystem::path& path) {
  Spec spec = parse_spec(read_file(path), path.string());
  spec.name = path.stem().string();
  return spec;
}

}  // namespace batchplus
