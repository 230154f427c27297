#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "config/config_toml.h"
#include "store/lost_status.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr const char* kGradientEvaluations = "gradient_evaluations";
constexpr const char* kSampleGradients = "sample_gradients";

std::string status_of(const ComparedRun& run) {
  return run.record ? run.record->status.value("status", "") : "";
}

size_t count_runs(const ComparedCell& cell, bool (ComparedRun::*is)() const) {
  return static_cast<size_t>(
      std::count_if(cell.runs.begin(), cell.runs.end(), [&](const ComparedRun& run) { return (run.*is)(); }));
}

/// Whether `a` is to be taken rather than `b`.
bool is_better(const ChoiceOutcome::Candidate& a, const ChoiceOutcome::Candidate& b) {
  if (a.score.n == 0 || b.score.n == 0) return a.score.n > b.score.n;
  if (a.diverged != b.diverged) return a.diverged < b.diverged;
  return a.score.mean > b.score.mean;
}

}  // namespace

bool ComparedRun::is_diverged() const {
  return status_of(*this) == "diverged";
}

bool ComparedRun::is_done() const {
  return status_of(*this) == "done";
}

size_t ComparedCell::count_diverged() const {
  return count_runs(*this, &ComparedRun::is_diverged);
}

size_t ComparedCell::count_done() const {
  return count_runs(*this, &ComparedRun::is_done);
}

size_t ComparedCell::count_missing() const {
  return runs.size() - count_done() - count_diverged();
}

size_t ComparedCell::count_left_out() const {
  return static_cast<size_t>(std::count_if(runs.begin(), runs.end(),
                                           [](const ComparedRun& run) { return !run.why_left_out.empty(); }));
}

const PublishedValue* ComparedCell::find_published(const std::string& quantity) const {
  const auto found = published.find(quantity);
  return found == published.end() ? nullptr : &found->second;
}

std::vector<std::vector<std::string>> Comparison::rows() const {
  std::vector<std::vector<std::string>> rows;
  for (const ComparedCell& cell : cells) {
    std::vector<std::string> row(cell.labels.begin(), cell.labels.end() - 1);
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
  }
  return rows;
}

const ComparedCell* Comparison::find(const std::vector<std::string>& row, const std::string& column) const {
  for (const ComparedCell& cell : cells) {
    if (cell.labels.back() == column && std::equal(row.begin(), row.end(), cell.labels.begin())) return &cell;
  }
  return nullptr;
}

namespace {

void add_note(Comparison& comparison, const std::string& note) {
  auto& notes = comparison.notes;
  // Cells may share a run.
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

/// How the run of a directory differs from the one that should be there; empty when it does not.
std::string describe_misplacement(const ComparedRun& run, const RunLayout& layout) {
  if (run.expected.empty()) return "";
  return describe_differences(run.expected, parse_run_config(read_config(layout), layout.config().string()));
}

}  // namespace

void read_runs(Comparison& comparison) {
  for (ComparedCell& cell : comparison.cells) {
    for (ComparedRun& run : cell.runs) {
      const RunLayout layout{run.directory};
      if (!layout.holds_run() && !has_lost_status(layout)) continue;
      try {
        const std::string misplacement = describe_misplacement(run, layout);
        if (!misplacement.empty()) {
          run.why_left_out = "another run";
          add_note(comparison, fmt::format("left out, because it is another run than the sweep's: {} ({})",
                                           run.directory.string(), misplacement));
          continue;
        }
        // Of a run that was cut short, the last line of records may be too.
        if (has_ended(read_status(layout))) run.record = read_run(run.directory);
      } catch (const Error& problem) {
        run.why_left_out = problem.summary();
        note_damage(comparison, problem);
      }
    }
  }
}

void note_damage(Comparison& comparison, const Error& problem) {
  add_note(comparison, fmt::format("left out, because it is damaged: {} ({})", problem.details().where,
                                   problem.summary()));
}

Cost cost_of(const Comparison& comparison) {
  Cost cost;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.record) continue;
      const auto samples = value_of(run.record->status, kSampleGradients);
      const auto evaluations = value_of(run.record->status, kGradientEvaluations);
      if (samples && evaluations && *evaluations > 0)
        cost.inner_batches.insert(std::llround(*samples / *evaluations));
    }
  }
  cost.quantity = cost.is_by_samples() ? kSampleGradients : kGradientEvaluations;
  return cost;
}

ReportedQuantity find_measured_quantity(const Comparison& comparison, const std::string& name,
                                        const std::string& where) {
  ReportedQuantity quantity = find_quantity(name, where);
  // Fewer of larger ones are not less.
  if (name == kGradientEvaluations && cost_of(comparison).is_by_samples()) quantity.is_judged = false;
  std::set<std::string> words;
  for (const auto* cells : {&comparison.cells, &comparison.not_chosen}) {
    for (const ComparedCell& cell : *cells) {
      for (const ComparedRun& run : cell.runs) {
        const auto statistics = run.record ? statistics_of(run.record->status, name) : std::nullopt;
        if (statistics) words.insert(describe_statistics(*statistics));
      }
    }
  }
  if (!words.empty()) quantity.label += fmt::format(" ({})", join({words.begin(), words.end()}, " and "));
  return quantity;
}

namespace {

/// A mean over few seeds is chosen more easily than one over many. Diverged runs count against a value
/// anyway.
void note_unequal_seeds(Comparison& comparison, const ChoiceOutcome& outcome) {
  std::set<size_t> counts;
  std::vector<std::string> values;
  for (const ChoiceOutcome::Candidate& candidate : outcome.candidates) {
    counts.insert(candidate.score.n + candidate.diverged);
    values.push_back(fmt::format("{} of {}", candidate.score.n + candidate.diverged, candidate.value));
  }
  if (counts.size() < 2) return;
  add_note(comparison, fmt::format("{}: {} was chosen among unequal numbers of finished runs ({})",
                                   join(outcome.labels, ", "), comparison.choice_key, join(values, ", ")));
}

}  // namespace

std::vector<ChoiceOutcome> settle_choices(Comparison& comparison) {
  std::map<std::vector<std::string>, ChoiceOutcome> outcomes;
  std::vector<std::vector<std::string>> order;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.choice.empty() || cell.decided_by != cell.labels) continue;
    const auto [outcome, is_new] = outcomes.try_emplace(cell.labels);
    if (is_new) order.push_back(cell.labels);
    outcome->second.labels = cell.labels;
    outcome->second.candidates.push_back({.value = cell.choice,
                                          .score = summarize(final_values(cell, comparison.choice_by).values),
                                          .diverged = cell.count_diverged()});
  }
  std::vector<ChoiceOutcome> all;
  for (const auto& labels : order) {
    ChoiceOutcome& outcome = outcomes.at(labels);
    auto best = outcome.candidates.begin();
    for (auto candidate = best; candidate != outcome.candidates.end(); ++candidate) {
      if (is_better(*candidate, *best)) best = candidate;
    }
    best->is_chosen = true;
    for (const ChoiceOutcome::Candidate& candidate : outcome.candidates) {
      const bool is_tie = &candidate != &*best && candidate.score.n > 0 && !is_better(*best, candidate);
      if (!is_tie) continue;
      add_note(comparison,
               fmt::format("{}: {} {} and {} did equally well, and the first counts", join(labels, ", "),
                           comparison.choice_key, best->value, candidate.value));
    }
    note_unequal_seeds(comparison, outcome);
    all.push_back(outcome);
  }
  const auto is_left_out = [&](const ComparedCell& cell) {
    if (cell.choice.empty()) return false;
    const auto outcome = outcomes.find(cell.decided_by);
    BATCHPLUS_CHECK(outcome != outcomes.end(), "every choice is decided by a cell of the grid");
    const auto& candidates = outcome->second.candidates;
    return std::none_of(candidates.begin(), candidates.end(), [&](const ChoiceOutcome::Candidate& candidate) {
      return candidate.is_chosen && candidate.value == cell.choice;
    });
  };
  const auto first_left_out =
      std::stable_partition(comparison.cells.begin(), comparison.cells.end(),
                            [&](const ComparedCell& cell) { return !is_left_out(cell); });
  comparison.not_chosen.assign(std::make_move_iterator(first_left_out),
                               std::make_move_iterator(comparison.cells.end()));
  comparison.cells.erase(first_left_out, comparison.cells.end());
  return all;
}

SeedValues collect_values(const ComparedCell& cell,
                          const std::function<std::optional<double>(const StoredRun&)>& value_of_run) {
  SeedValues result;
  for (const ComparedRun& run : cell.runs) {
    if (!run.is_done()) continue;
    const auto value = value_of_run(*run.record);
    if (!value) continue;
    result.seeds.push_back(run.seed);
    result.values.push_back(*value);
  }
  return result;
}

SeedValues final_values(const ComparedCell& cell, const std::string& quantity) {
  return collect_values(cell, [&](const StoredRun& run) { return final_value(run, quantity); });
}

}  // namespace batchplus
