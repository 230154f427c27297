#include "report/result_tables.h"

#include <fmt/format.h>

#include "report/table_parts.h"

namespace batchplus {
namespace {

/// Up to so many columns are compared each with each, more with the first one only.
constexpr size_t kMostPaired = 4;

std::string format_p(double p) {
  constexpr double kLeast = 0.001;
  return p < kLeast ? "< 0.001" : fixed(p, 3);
}

}  // namespace

Table paired_table(const Comparison& comparison, const ReportedQuantity& quantity) {
  const auto& columns = comparison.columns().labels;
  const size_t label_axes = comparison.axes.size() - 1;
  Table table{.name = quantity.name + "_paired",
              .title = fmt::format("Paired differences of {} at the end", quantity.label),
              .header = axis_names(comparison, label_axes),
              .label_columns = label_axes + 1,
              .rows = {},
              .note =
                  "Over the seeds that both have, which then share initial weights and the order of samples. "
                  "p: two-sided "
                  "t test that the mean difference is zero; Holm: corrected for the number of lines."};
  for (const char* name : {"difference", "mean", "95 % interval", "pairs", "p", "p (Holm)"})
    table.header.emplace_back(name);
  std::vector<double> ps;
  std::vector<size_t> lines_with_p;
  for (const auto& row : comparison.rows()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      for (size_t j = i + 1; j < columns.size(); ++j) {
        if (columns.size() > kMostPaired && i > 0) continue;
        const ComparedCell* a = comparison.find(row, columns[i]);
        const ComparedCell* b = comparison.find(row, columns[j]);
        if (a == nullptr || b == nullptr) continue;
        const PairedTest test =
            compare_cells(final_values(*a, quantity.name), final_values(*b, quantity.name));
        const Summary& difference = test.difference;
        if (difference.n == 0) continue;
        std::vector<TableCell> line = label_cells(row);
        line.push_back({.text = fmt::format("{} − {}", columns[i], columns[j])});
        line.push_back({.text = fmt::format("{:+.{}f}", difference.mean, quantity.digits)});
        line.push_back({.text = difference.half_width
                                    ? fmt::format("{:+.{}f} to {:+.{}f}",
                                                  difference.mean - *difference.half_width, quantity.digits,
                                                  difference.mean + *difference.half_width, quantity.digits)
                                    : "-"});
        line.push_back({.text = std::to_string(difference.n)});
        line.push_back({.text = test.p ? format_p(*test.p) : "-"});
        line.push_back({.text = "-"});
        if (test.p) {
          ps.push_back(*test.p);
          lines_with_p.push_back(table.rows.size());
        }
        table.rows.push_back(std::move(line));
      }
    }
  }
  const std::vector<double> corrected = correct_holm(ps);
  for (size_t i = 0; i < corrected.size(); ++i)
    table.rows[lines_with_p[i]].back().text = format_p(corrected[i]);
  return table;
}

}  // namespace batchplus
