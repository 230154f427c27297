#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/report_options.h"
#include "config/run_config.h"

namespace batchplus {

/// A key of a config set to a value, and where the spec says so.
struct SpecSetting {
  std::string key;
  std::string text;
  /// File, line and column.
  std::string where;
};

/// Settings that go together: an axis value, or what an override adds. `epochs_times` multiplies the epochs
/// that all settings together give, and that of a scale their budget in epochs too; `repeats` is the number
/// of seeds.
struct SpecSettings {
  std::vector<SpecSetting> config;
  std::optional<double> epochs_times;
  std::optional<int64_t> repeats;
};

struct SpecAxisValue {
  std::string label;
  SpecSettings settings;
};

/// One dimension of the grid.
struct SpecAxis {
  std::string name;
  std::vector<SpecAxisValue> values;
};

/// Holds where every named axis has one of the labels.
struct SpecCondition {
  std::map<std::string, std::vector<std::string>> labels = {};

  bool holds(const std::map<std::string, std::string>& cell) const;
};

struct SpecOverride {
  SpecCondition when;
  SpecSettings settings;
};

/// A key that takes several values, of which the report shows the best: chosen by the runs where `when`
/// holds, and taken over by those where `same_for` does.
struct SpecChoice {
  std::string key;
  std::vector<std::string> values;
  /// File, line and column of the values.
  std::string where;
  SpecCondition when;
  SpecCondition same_for;
  /// "validation_accuracy", or "test_accuracy" to mirror a paper that chose on test data.
  std::string by;
};

/// By the labels of a cell, in the order of the axes.
using PublishedCells = std::map<std::vector<std::string>, PublishedValue>;

/// How much of the full experiment to run. It changes epochs, samples and repeats, and may leave cells out;
/// never what a cell means.
struct SpecScale {
  std::string name;
  SpecSettings settings = {};
  /// Cells where one of these holds stay; all of them when there is none.
  std::vector<SpecCondition> only = {};

  bool keeps(const std::map<std::string, std::string>& cell) const;
};

/// An experiment: a grid of configs with repeats. docs/specs.md describes the file.
struct Spec {
  std::string name;
  std::string title;
  SpecSettings base;
  std::vector<SpecAxis> axes;
  std::vector<SpecOverride> overrides;
  std::vector<SpecCondition> excludes;
  /// After everything else, by set_everywhere.
  SpecSettings last;
  std::optional<SpecChoice> choice;
  /// The axis along which all cells must cost the same number of gradient evaluations; empty: none.
  std::string equal_budget_axis;
  /// One, called "full", when the file has none.
  std::vector<SpecScale> scales;
  /// By the name of a quantity: test_accuracy, seconds.
  std::map<std::string, PublishedCells> published;
  ReportOptions report;
};

/// Unknown keys, wrong types, empty axes, two axes on one key, and conditions on what is not there are Errors
/// with line and column.
Spec parse_spec(std::string_view text, const std::string& where);
Spec read_spec(const std::filesystem::path& path);

/// One run of a spec.
struct SpecRun {
  /// Of the config, without paths: equal configs have equal ids.
  std::string id;
  /// Axis to label.
  std::map<std::string, std::string> cell;
  /// The value of the chosen key, where the cell has one.
  std::string choice;
  RunConfig config;
  /// Where the spec sets each key of the config that it sets.
  std::map<std::string, std::string> places = {};
};

/// A sweep has no more runs than this.
inline constexpr int64_t kMostRuns = 10000;

/// All runs at a scale, in the grid's order, the seeds of a cell together. An Error when there are none or
/// more than kMostRuns, or for a scale that the spec does not have.
std::vector<SpecRun> expand(const Spec& spec, const std::string& scale);

/// An Error when an override or a scale sets a key that an axis or the choice sets: cells would not be what
/// they are called. parse_spec asks.
void require_own_keys(const Spec& spec);

/// An Error that names those there are when the spec has no such scale.
const SpecScale& find_scale(const Spec& spec, const std::string& name);

/// Sets a key of every config, or the number of seeds, whatever the spec says of it: "dataset=fashion-mnist",
/// "repeats=1". An Error for a key that an axis or the choice sets: cells would not be what they are called.
void set_everywhere(Spec& spec, const std::string& assignment);

}  // namespace batchplus
