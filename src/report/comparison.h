#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/compare_configs.h"
#include "config/report_options.h"
#include "report/quantities.h"
#include "report/statistics.h"
#include "store/run_directory.h"
#include "util/error.h"

namespace batchplus {

/// A run with its place in a grid. Without a record it has not finished.
struct ComparedRun {
  std::string id = {};
  int64_t seed = 0;
  std::filesystem::path directory = {};
  /// What its config must say; empty: anything.
  ConfigValues expected = {};
  std::optional<StoredRun> record = {};
  /// Damage, or that it is another run than it should be; empty: nothing is wrong with it.
  std::string why_left_out = {};

  bool is_diverged() const;
  /// Finished and not diverged.
  bool is_done() const;
};

/// The runs of one place in the grid, which differ by their seeds.
struct ComparedCell {
  /// One for each axis.
  std::vector<std::string> labels = {};
  std::vector<ComparedRun> runs = {};
  /// By the name of a quantity.
  std::map<std::string, PublishedValue> published = {};
  /// One of several values that were tried here, like a learning rate, and the labels of the cell whose runs
  /// decide which of them counts. Empty where there was nothing to choose.
  std::string choice = {};
  std::vector<std::string> decided_by = {};

  size_t count_diverged() const;
  size_t count_done() const;
  size_t count_missing() const;
  size_t count_left_out() const;
  /// Null when the paper has no such number.
  const PublishedValue* find_published(const std::string& quantity) const;
};

struct ComparedAxis {
  std::string name = {};
  std::vector<std::string> labels = {};
};

/// Runs in the cells of a grid. The last axis holds what is compared: the columns of tables, the lines of
/// figures.
struct Comparison {
  std::string name = {};
  std::string title = {};
  /// Empty for runs without a spec.
  std::string scale = {};
  /// What the scale leaves out.
  std::string scale_note = {};
  std::vector<ComparedAxis> axes = {};
  std::vector<ComparedCell> cells = {};
  /// What was tried and not chosen, once choices are settled.
  std::vector<ComparedCell> not_chosen = {};
  /// The key that was chosen, and the accuracy it was chosen by; empty without a choice.
  std::string choice_key = {};
  std::string choice_by = {};
  ReportOptions options = {};
  /// What a reader must know of the runs: damaged ones that are left out, copies that count once.
  std::vector<std::string> notes = {};

  const ComparedAxis& columns() const { return axes.back(); }
  /// The labels of all axes but the last that have cells, in the order of the grid.
  std::vector<std::vector<std::string>> rows() const;
  /// Null when the grid has no such cell.
  const ComparedCell* find(const std::vector<std::string>& row, const std::string& column) const;
};

/// Reads the runs that have finished. Those that are damaged, or are not the run that the grid has there, are
/// left out, with a note.
void read_runs(Comparison& comparison);

/// Notes a run that an Error keeps out of the comparison.
void note_damage(Comparison& comparison, const Error& problem);

/// The quantity that says what runs cost, and how many samples an inner batch of theirs has. Gradient
/// evaluations are of a run's own inner batches: where these differ, sample gradients are what compares.
struct Cost {
  std::string quantity = {};
  std::set<int64_t> inner_batches = {};
  bool is_by_samples() const { return inner_batches.size() > 1; }
};
Cost cost_of(const Comparison& comparison);

/// find_quantity, with a label that says by which statistics of BatchNorm the runs measured it:
/// "‖∇F‖² (evaluation statistics)".
ReportedQuantity find_measured_quantity(const Comparison& comparison, const std::string& name,
                                        const std::string& where);

/// What was tried for one cell, and what came of it.
struct ChoiceOutcome {
  std::vector<std::string> labels = {};
  struct Candidate {
    std::string value = {};
    /// Of the accuracy it was chosen by, over the seeds that finished.
    Summary score = {};
    size_t diverged = 0;
    bool is_chosen = false;
  };
  std::vector<Candidate> candidates = {};
};

/// Leaves in each cell the runs of the value that did best: with the fewest diverged runs, and of those the
/// highest mean. Cells that another one decides for take its value. Returns what was compared.
std::vector<ChoiceOutcome> settle_choices(Comparison& comparison);

/// Values of the runs that finished, with their seeds.
struct SeedValues {
  std::vector<int64_t> seeds = {};
  std::vector<double> values = {};
};
SeedValues collect_values(const ComparedCell& cell,
                          const std::function<std::optional<double>(const StoredRun&)>& value_of_run);
SeedValues final_values(const ComparedCell& cell, const std::string& quantity);

}  // namespace batchplus
