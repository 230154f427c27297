#include "report/content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/at_loss.h"
#include "report/result_tables.h"
#include "util/clock.h"

namespace batchplus {
namespace {

/// Every key of provenance.json with the different values that runs have, in order of appearance.
std::vector<std::pair<std::string, std::vector<std::string>>> collect_provenance(
    const Comparison& comparison) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.record) continue;
      for (const auto& item : run.record->provenance.items()) {
        const std::string key = item.key();
        if (key == kInputs) continue;  // digests say nothing to a reader
        const Json& value = item.value();
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        auto row =
            std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
        if (row == all.end()) row = all.insert(all.end(), {key, {}});
        auto& values = row->second;
        if (std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
      }
    }
  }
  // Of the moments when runs started the first and the last are enough.
  for (auto& [key, values] : all) {
    if (key != "started" || values.size() < 2) continue;
    std::sort(values.begin(), values.end());
    values = {fmt::format("{} to {}", values.front(), values.back())};
  }
  return all;
}

/// Each quantity at equal training loss, and what it took to get there.
std::vector<Table> make_at_loss_tables(const Comparison& comparison) {
  std::vector<Table> tables;
  if (comparison.options.at_loss.empty()) return tables;
  require_evaluated_train_loss(comparison);
  std::vector<std::string> names = comparison.options.tables;
  const std::string cost = cost_of(comparison).quantity;
  if (std::find(names.begin(), names.end(), cost) == names.end()) names.push_back(cost);
  for (const std::string& name : names) {
    const ReportedQuantity quantity = find_measured_quantity(comparison, name, "tables");
    tables.push_back(at_loss_table(comparison, quantity));
    tables.push_back(at_loss_paired_table(comparison, quantity));
  }
  return tables;
}

void note_inner_batches(Comparison& comparison) {
  const Cost cost = cost_of(comparison);
  if (!cost.is_by_samples()) return;
  comparison.notes.push_back(
      fmt::format("inner batches of {} samples: gradient evaluations are of each run's own, and sample "
                  "gradients compare what runs cost",
                  fmt::join(cost.inner_batches, ", ")));
}

/// On how many samples runs measured a quantity.
std::set<int64_t> samples_of(const Comparison& comparison, const std::string& name) {
  std::set<int64_t> counts;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.record || !run.record->status.contains(name)) continue;
      const Json& measured = run.record->status[name];
      if (measured.is_object() && measured.contains("samples") && measured["samples"].is_number_integer())
        counts.insert(measured["samples"].get<int64_t>());
    }
  }
  return counts;
}

/// Whether the gap of a run's records is over fewer samples than the one of its end.
bool is_gap_sampled(const Comparison& comparison, const std::string& name) {
  constexpr double kRounding = 1e-6;
  for (const ComparedCell& cell : comparison.cells) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.is_done()) continue;
      const auto of_records = value_of(run.record->status, name);
      const auto at_end = final_value(*run.record, name);
      if (of_records && at_end && std::abs(*of_records - *at_end) > kRounding * (1 + std::abs(*at_end)))
        return true;
    }
  }
  return false;
}

void note_samples(Comparison& comparison) {
  std::set<std::string> names(comparison.options.tables.begin(), comparison.options.tables.end());
  names.insert(comparison.options.curves.begin(), comparison.options.curves.end());
  for (const std::string& name : names) {
    const std::set<int64_t> samples = samples_of(comparison, name);
    const std::string& label = find_quantity(name, "tables").label;
    const std::string counts = fmt::format("{}", fmt::join(samples, ", "));
    const bool is_gap = name == "loss_gap" || name == "accuracy_gap";
    if (is_gap && is_gap_sampled(comparison, name)) {
      comparison.notes.push_back(
          fmt::format("{} at the end of training is over all training samples; before, as for the best, in "
                      "curves and at equal training loss, over the samples that were measured ({})",
                      label, counts));
    } else if (samples.size() > 1) {
      comparison.notes.push_back(fmt::format(
          "{} was measured on {} samples: estimates from fewer ones are not comparable", label, counts));
    }
  }
}

std::vector<Table> make_tables(const Comparison& comparison, const std::vector<ChoiceOutcome>& outcomes) {
  std::vector<Table> tables;
  for (const std::string& name : comparison.options.tables) {
    const ReportedQuantity quantity = find_measured_quantity(comparison, name, "tables");
    const bool is_main = name == comparison.options.tables.front();
    tables.push_back(result_table(comparison, quantity, RunValue::kFinal));
    if (is_main && quantity.has_best) tables.push_back(result_table(comparison, quantity, RunValue::kBest));
    tables.push_back(paired_table(comparison, quantity));
    if (is_main) tables.push_back(cell_table(comparison, quantity));
  }
  for (Table& table : make_at_loss_tables(comparison)) tables.push_back(std::move(table));
  if (!outcomes.empty()) tables.push_back(choice_table(comparison, outcomes));
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace

ReportContent make_content(Comparison comparison) {
  ReportContent content;
  // Runs that were tried and not chosen say as much about metrics and gaps as the others.
  content.gaps = compare_metrics_with_gaps(comparison);
  const std::vector<ChoiceOutcome> outcomes = settle_choices(comparison);
  note_inner_batches(comparison);
  note_samples(comparison);
  content.tables = make_tables(comparison, outcomes);
  content.panels = make_panels(comparison);
  content.provenance = collect_provenance(comparison);
  content.made = utc_timestamp();
  content.comparison = std::move(comparison);
  return content;
}

}  // namespace batchplus
