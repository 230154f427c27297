#include "report/table_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace batchplus {

SeedValues values_of(const ComparedCell& cell, const ReportedQuantity& quantity, RunValue which) {
  if (which == RunValue::kFinal) return final_values(cell, quantity.name);
  return collect_values(cell, [&](const StoredRun& run) { return best_value(run, quantity); });
}

std::set<std::string> best_columns(const Comparison& comparison, const std::vector<std::string>& row,
                                   const ReportedQuantity& quantity, const CellValues& values) {
  if (!quantity.is_judged) return {};
  std::string best;
  double best_mean = 0;
  size_t compared = 0;
  for (const std::string& column : comparison.columns().labels) {
    const ComparedCell* cell = comparison.find(row, column);
    if (cell == nullptr) continue;
    const Summary summary = summarize(values(*cell).values);
    if (summary.n == 0) continue;
    ++compared;
    const bool is_better =
        best.empty() || (quantity.is_higher_better ? summary.mean > best_mean : summary.mean < best_mean);
    if (!is_better) continue;
    best = column;
    best_mean = summary.mean;
  }
  // What stands alone is the best of nothing.
  if (compared < 2) return {};
  std::set<std::string> bold = {best};
  const SeedValues leader = values(*comparison.find(row, best));
  for (const std::string& column : comparison.columns().labels) {
    const ComparedCell* cell = comparison.find(row, column);
    if (cell == nullptr || column == best) continue;
    const SeedValues others = values(*cell);
    if (others.values.empty()) continue;
    const bool is_equal = summarize(others.values).mean == best_mean;
    // Without two seeds that both have there is no test; differences without spread need none.
    const PairedTest test = compare_cells(leader, others);
    const bool is_told_apart = test.p ? *test.p <= kTestLevel : test.difference.n > 1;
    if (is_equal || !is_told_apart) bold.insert(column);
  }
  return bold;
}

PairedTest compare_cells(const SeedValues& a, const SeedValues& b) {
  std::vector<double> left;
  std::vector<double> right;
  for (size_t i = 0; i < a.seeds.size(); ++i) {
    const auto same = std::find(b.seeds.begin(), b.seeds.end(), a.seeds[i]);
    if (same == b.seeds.end()) continue;
    left.push_back(a.values[i]);
    right.push_back(b.values[static_cast<size_t>(same - b.seeds.begin())]);
  }
  return compare_paired(left, right);
}

std::string fixed(double value, int digits) {
  return fmt::format("{:.{}f}", value, digits);
}

std::string format_summary(const Summary& summary, int digits, const ComparedCell& cell) {
  const size_t diverged = cell.count_diverged();
  const size_t missing = cell.count_missing();
  if (summary.n == 0 && diverged > 0) return fmt::format("diverged ({})", diverged);
  if (summary.n == 0) return fmt::format("none of {}", cell.runs.size());
  std::string text = fmt::format("{} ({}", format_mean(summary, digits), summary.n);
  if (diverged > 0) text += fmt::format("; {} diverged", diverged);
  if (missing > 0) text += fmt::format("; {} missing", missing);
  return text + ")";
}

std::string format_mean(const Summary& summary, int digits) {
  std::string text = fixed(summary.mean, digits);
  if (summary.std) text += " ± " + fixed(*summary.std, digits);
  return text;
}

std::vector<std::string> column_headings(const Comparison& comparison) {
  std::vector<std::string> headings;
  for (const std::string& column : comparison.columns().labels) {
    const size_t sign = column.starts_with('-') ? 1 : 0;
    const bool is_number =
        column.size() > sign && std::isdigit(static_cast<unsigned char>(column[sign])) != 0;
    headings.push_back(is_number ? fmt::format("{} = {}", comparison.columns().name, column) : column);
  }
  return headings;
}

void add_columns(std::vector<TableCell>& line, const Comparison& comparison,
                 const std::vector<std::string>& row,
                 const std::function<TableCell(const ComparedCell& cell)>& show) {
  for (const std::string& column : comparison.columns().labels) {
    const ComparedCell* cell = comparison.find(row, column);
    line.push_back(cell != nullptr ? show(*cell) : TableCell{.text = "", .style = "missing"});
  }
}

std::string capitalized(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string anchor_of(const Comparison& comparison, const ComparedCell& cell) {
  const auto index_in = [&](const std::vector<ComparedCell>& cells) {
    const auto found =
        std::find_if(cells.begin(), cells.end(), [&](const ComparedCell& one) { return &one == &cell; });
    return found == cells.end() ? std::string() : std::to_string(found - cells.begin());
  };
  const std::string index = index_in(comparison.cells);
  return index.empty() ? fmt::format("cell-tried-{}", index_in(comparison.not_chosen))
                       : fmt::format("cell-{}", index);
}

std::vector<TableCell> label_cells(const std::vector<std::string>& labels) {
  std::vector<TableCell> cells;
  for (const std::string& label : labels) cells.push_back({.text = label});
  return cells;
}

std::vector<std::string> axis_names(const Comparison& comparison, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(comparison.axes[i].name);
  return names;
}

}  // namespace batchplus
