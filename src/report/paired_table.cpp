#include "report/result_tables.h"

#include <fmt/format.h>

#include "report/at_loss.h"
#include "report/table_parts.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Up to so many columns are compared each with each, more with the first one only.
constexpr size_t kMostPaired = 4;

std::string format_p(double p) {
  constexpr double kLeast = 0.001;
  return p < kLeast ? "< 0.001" : fixed(p, 3);
}

/// Lines of differences between columns, corrected for their number at the end.
class PairedLines {
 public:
  PairedLines(const Comparison& comparison, int digits) : comparison_(comparison), digits_(digits) {}

  /// Columns of the row against each other, under these labels.
  void add(const std::vector<std::string>& row, const std::vector<std::string>& labels,
           const CellValues& values) {
    const auto& columns = comparison_.columns().labels;
    for (size_t i = 0; i < columns.size(); ++i) {
      for (size_t j = i + 1; j < columns.size(); ++j) {
        if (columns.size() > kMostPaired && i > 0) continue;
        const ComparedCell* a = comparison_.find(row, columns[i]);
        const ComparedCell* b = comparison_.find(row, columns[j]);
        if (a == nullptr || b == nullptr) continue;
        add_line(labels, fmt::format("{} − {}", columns[i], columns[j]),
                 compare_cells(values(*a), values(*b)));
      }
    }
  }

  std::vector<std::vector<TableCell>> take() {
    const std::vector<double> corrected = correct_holm(ps_);
    for (size_t i = 0; i < corrected.size(); ++i) lines_[with_p_[i]].back().text = format_p(corrected[i]);
    return std::move(lines_);
  }

 private:
  void add_line(const std::vector<std::string>& labels, const std::string& name, const PairedTest& test) {
    const Summary& difference = test.difference;
    if (difference.n == 0) return;
    const bool has_spread = difference.std && *difference.std > 0;
    const auto with_sign = [&](double value) { return fmt::format("{:+.{}f}", value, digits_); };
    std::vector<TableCell> line = label_cells(labels);
    line.push_back({.text = name});
    line.push_back({.text = with_sign(difference.mean)});
    std::string interval = difference.std ? "no spread" : "-";
    if (has_spread) {
      interval = fmt::format("{} to {}", with_sign(difference.mean - *difference.half_width),
                             with_sign(difference.mean + *difference.half_width));
    }
    line.push_back({.text = std::move(interval)});
    line.push_back({.text = std::to_string(difference.n)});
    line.push_back({.text = test.p ? format_p(*test.p) : "-"});
    line.push_back({.text = "-"});
    if (test.p) {
      ps_.push_back(*test.p);
      with_p_.push_back(lines_.size());
    }
    lines_.push_back(std::move(line));
  }

  const Comparison& comparison_;
  int digits_;
  std::vector<std::vector<TableCell>> lines_;
  std::vector<double> ps_;
  /// The lines that the p values belong to.
  std::vector<size_t> with_p_;
};

/// Without lines: `labels` are the headings of its label columns.
Table empty_paired_table(std::string name, std::string title, std::vector<std::string> labels) {
  Table table{.name = std::move(name),
              .title = std::move(title),
              .header = std::move(labels),
              .label_columns = 1,
              .rows = {},
              .note =
                  "Over the seeds that both have; with the same network and data such runs share initial "
                  "weights and the order of samples. p: two-sided t test that the mean difference is zero; "
                  "Holm: corrected for the number of lines. No spread: all pairs differ by the same."};
  table.label_columns += table.header.size();
  for (const char* heading : {"difference", "mean", "95 % interval", "pairs", "p", "p (Holm)"})
    table.header.emplace_back(heading);
  return table;
}

}  // namespace

Table paired_table(const Comparison& comparison, const ReportedQuantity& quantity) {
  Table table = empty_paired_table(quantity.name + "_paired",
                                   fmt::format("Paired differences of {} at the end", quantity.label),
                                   axis_names(comparison, comparison.axes.size() - 1));
  PairedLines lines(comparison, quantity.digits);
  for (const auto& row : comparison.rows()) {
    lines.add(row, row, [&](const ComparedCell& cell) { return final_values(cell, quantity.name); });
  }
  table.rows = lines.take();
  return table;
}

Table at_loss_paired_table(const Comparison& comparison, const ReportedQuantity& quantity) {
  std::vector<std::string> headings = axis_names(comparison, comparison.axes.size() - 1);
  headings.emplace_back("training loss");
  Table table = empty_paired_table(
      fmt::format("at_loss_{}_paired", quantity.name),
      fmt::format("Paired differences of {} at equal training loss", quantity.label), std::move(headings));
  PairedLines lines(comparison, quantity.digits);
  for (const auto& row : comparison.rows()) {
    for (const double level : comparison.options.at_loss) {
      std::vector<std::string> labels = row;
      labels.push_back(format_number(level));
      lines.add(row, labels,
                [&](const ComparedCell& cell) { return values_at_loss(cell, quantity.name, level); });
    }
  }
  table.rows = lines.take();
  return table;
}

}  // namespace batchplus
