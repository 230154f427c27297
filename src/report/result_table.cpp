#include "report/result_tables.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "report/table_parts.h"

namespace batchplus {
namespace {

constexpr double kLevel = 0.05;

std::string format_published(const PublishedValue& published, int digits) {
  std::string text = fixed(published.mean, digits);
  if (published.std) text += " ± " + fixed(*published.std, digits);
  return text;
}

/// The columns of a row to be bold: the best mean, and those that a paired test does not tell from it.
std::set<std::string> best_columns(const Comparison& comparison, const std::vector<std::string>& row,
                                   const ReportedQuantity& quantity, RunValue which) {
  std::string best;
  double best_mean = 0;
  for (const std::string& column : comparison.columns().labels) {
    const ComparedCell* cell = comparison.find(row, column);
    if (cell == nullptr) continue;
    const Summary summary = summarize(values_of(*cell, quantity, which).values);
    if (summary.n == 0) continue;
    const bool is_better =
        best.empty() || (quantity.is_higher_better ? summary.mean > best_mean : summary.mean < best_mean);
    if (!is_better) continue;
    best = column;
    best_mean = summary.mean;
  }
  if (best.empty()) return {};
  std::set<std::string> bold = {best};
  const SeedValues leader = values_of(*comparison.find(row, best), quantity, which);
  for (const std::string& column : comparison.columns().labels) {
    const ComparedCell* cell = comparison.find(row, column);
    if (cell == nullptr || column == best) continue;
    const PairedTest test = compare_cells(leader, values_of(*cell, quantity, which));
    if (test.p && *test.p > kLevel) bold.insert(column);
  }
  return bold;
}

}  // namespace

Table result_table(const Comparison& comparison, const ReportedQuantity& quantity, RunValue value) {
  const bool is_final = value == RunValue::kFinal;
  Table table{.name = is_final ? quantity.name : "best_" + quantity.name,
              .title = is_final ? fmt::format("{} at the end of training", quantity.label)
                                : fmt::format("best {} of all epochs", quantity.label),
              .header = axis_names(comparison, comparison.axes.size() - 1),
              .label_columns = comparison.axes.size() - 1,
              .rows = {},
              .note = ""};
  table.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(table.title[0])));
  for (const std::string& column : comparison.columns().labels) {
    // A number needs to be said of what.
    const bool is_number = !column.empty() && std::isdigit(static_cast<unsigned char>(column.front())) != 0;
    table.header.push_back(is_number ? fmt::format("{} = {}", comparison.columns().name, column) : column);
  }
  bool has_published = false;
  for (const auto& row : comparison.rows()) {
    std::vector<TableCell> line = label_cells(row);
    const std::set<std::string> bold = best_columns(comparison, row, quantity, value);
    for (const std::string& column : comparison.columns().labels) {
      const ComparedCell* cell = comparison.find(row, column);
      if (cell == nullptr) {
        line.push_back({.text = "", .style = "missing"});
        continue;
      }
      const Summary summary = summarize(values_of(*cell, quantity, value).values);
      TableCell shown{.text = format_summary(summary, quantity.digits, *cell),
                      .is_bold = bold.contains(column),
                      .anchor = anchor_of(comparison, *cell)};
      if (summary.n == 0) shown.style = cell->count_diverged() > 0 ? "diverged" : "missing";
      if (const PublishedValue* published = cell->find_published(quantity.name)) {
        has_published = true;
        shown.note = "paper " + format_published(*published, quantity.digits);
        if (summary.n > 0) {
          shown.note += fmt::format(", {:+.{}f}", summary.mean - published->mean, quantity.digits);
        }
      }
      line.push_back(std::move(shown));
    }
    table.rows.push_back(std::move(line));
  }
  table.note = fmt::format(
      "Mean ± standard deviation (n) over seeds. Bold (a star in plain text): the best mean of the row, and "
      "those that a paired t test over shared seeds does not tell from it at {:.0f} %.",
      100 * kLevel);
  if (has_published) {
    table.note += fmt::format(" Below: the paper's number, and how far our mean {} is from it.",
                              is_final ? "at the end of training" : "of the best epochs");
  }
  if (!comparison.scale_note.empty())
    table.note += fmt::format(" Scale {}: {}", comparison.scale, comparison.scale_note);
  return table;
}

}  // namespace batchplus
