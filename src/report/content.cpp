#include "report/content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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
  content.tables = make_tables(comparison, outcomes);
  content.panels = make_panels(comparison);
  content.provenance = collect_provenance(comparison);
  content.made = utc_timestamp();
  content.comparison = std::move(comparison);
  return content;
}

}  // namespace batchplus
