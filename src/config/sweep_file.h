#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/compare_configs.h"
#include "config/report_options.h"
#include "config/spec.h"
#include "util/json.h"

namespace batchplus {

/// What a sweep is, as sweep.json in its directory says: with the run directories beside it, all that a
/// report needs.
struct SweepFile {
  struct Axis {
    std::string name;
    /// Only those that have runs.
    std::vector<std::string> labels;
  };
  struct Run {
    std::string id;
    int64_t seed = 0;
    /// One for each axis.
    std::vector<std::string> labels;
    /// One of several values that are tried here, and the labels of the cell whose runs decide which of them
    /// counts; empty where there is nothing to choose.
    std::string choice = {};
    std::vector<std::string> decided_by = {};
    /// What the config of its run directory must say; empty in a sweep from before it was noted.
    ConfigValues config = {};
  };
  struct Published {
    std::string quantity;
    std::vector<std::string> labels;
    PublishedValue value;
  };

  std::string name;
  std::string title;
  std::string scale;
  /// What the scale leaves out and what was set by hand, in words.
  std::string note;
  /// What `--set` set, as it was written.
  std::vector<std::string> settings;
  /// The key that was chosen, and the accuracy it was chosen by; empty without a choice.
  std::string choice_key = {};
  std::string choice_by = {};
  ReportOptions report = {};
  std::vector<Axis> axes = {};
  std::vector<Run> runs = {};
  std::vector<Published> published = {};
};

/// `runs` are those of the spec at the scale, in its order. A spec without axes has a single cell, called by
/// its method.
SweepFile describe_sweep(const Spec& spec, const std::string& scale, const std::vector<SpecRun>& runs);

/// What set_everywhere has set, as `--set` writes it.
std::vector<std::string> settings_by_hand(const Spec& spec);

Json to_json(const SweepFile& sweep);

/// An Error when the file is missing or is not a description of a sweep.
SweepFile read_sweep_file(const std::filesystem::path& path);
/// The same of the file's text; `where` names it in Errors.
SweepFile parse_sweep_file(const std::string& text, const std::string& where);

/// The run of a sweep that this id names; null when it has none.
const SweepFile::Run* find_run(const SweepFile& sweep, const std::string& id);

}  // namespace batchplus
