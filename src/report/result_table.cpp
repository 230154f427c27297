#include "report/result_tables.h"

#include <fmt/format.h>

#include "report/table_parts.h"

namespace batchplus {
namespace {

std::string format_published(const PublishedValue& published, int digits) {
  std::string text = fixed(published.mean, digits);
  if (published.std) text += " ± " + fixed(*published.std, digits);
  return text;
}

}  // namespace

Table result_table(const Comparison& comparison, const ReportedQuantity& quantity, RunValue value) {
  const bool is_final = value == RunValue::kFinal;
  Table table{.name = is_final ? quantity.name : "best_" + quantity.name,
              .title = capitalized(is_final ? fmt::format("{} at the end of training", quantity.label)
                                            : fmt::format("best {} of all evaluated epochs", quantity.label)),
              .header = axis_names(comparison, comparison.axes.size() - 1),
              .label_columns = comparison.axes.size() - 1,
              .rows = {},
              .note = ""};
  for (const std::string& heading : column_headings(comparison)) table.header.push_back(heading);
  const CellValues values = [&](const ComparedCell& cell) { return values_of(cell, quantity, value); };
  bool has_published = false;
  for (const auto& row : comparison.rows()) {
    std::vector<TableCell> line = label_cells(row);
    const std::set<std::string> bold = best_columns(comparison, row, quantity, values);
    add_columns(line, comparison, row, [&](const ComparedCell& cell) {
      const Summary summary = summarize(values(cell).values);
      TableCell shown{.text = format_summary(summary, quantity.digits, cell),
                      .is_bold = bold.contains(cell.labels.back()),
                      .anchor = anchor_of(comparison, cell)};
      if (summary.n == 0) shown.style = cell.count_diverged() > 0 ? "diverged" : "missing";
      if (const PublishedValue* published = cell.find_published(quantity.name)) {
        has_published = true;
        shown.note = "paper " + format_published(*published, quantity.digits);
        if (summary.n > 0) {
          shown.note += fmt::format(", {:+.{}f}", summary.mean - published->mean, quantity.digits);
        }
      }
      return shown;
    });
    table.rows.push_back(std::move(line));
  }
  table.note = "Mean ± standard deviation (n) over seeds.";
  if (quantity.is_judged) {
    table.note += fmt::format(
        " Bold (a star in plain text): the best mean of the row, and those that a paired t test over shared "
        "seeds does not tell from it at {:.0f} %, as it cannot with fewer than two of them.",
        100 * kTestLevel);
  }
  if (has_published) {
    table.note += fmt::format(" Below: the paper's number, and how far our mean {} is from it.",
                              is_final ? "at the end of training" : "of the best epochs");
  }
  if (!comparison.scale_note.empty())
    table.note += fmt::format(" Scale {}: {}", comparison.scale, comparison.scale_note);
  return table;
}

}  // namespace batchplus
