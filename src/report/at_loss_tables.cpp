#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/at_loss.h"
#include "report/result_tables.h"
#include "report/table_parts.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// The runs without a value at a level, by the reason, as "BP-SVRG seed 3".
class Absent {
 public:
  void add(const ComparedCell& cell, double level, const std::string& quantity) {
    for (const ComparedRun& run : cell.runs) {
      if (!run.is_done()) continue;
      const AtLoss::Outcome outcome = value_at_loss(*run.record, quantity, level).outcome;
      if (outcome == AtLoss::Outcome::kReached) continue;
      // What a run has not recorded it has at no level.
      const std::string place =
          outcome == AtLoss::Outcome::kNotRecorded ? "" : fmt::format(" {}", format_number(level));
      auto& names = names_[{outcome, place}];
      const std::string name = fmt::format("{} seed {}", join(cell.labels, ", "), run.seed);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }

  std::string words() const {
    static const std::map<AtLoss::Outcome, std::string> kReasons = {
        {AtLoss::Outcome::kNever, "Never reached"},
        {AtLoss::Outcome::kBelowFromTheStart, "In the first record with loss and quantity already below"},
        {AtLoss::Outcome::kNotRecorded, "Not recorded beside a training loss"}};
    std::string text;
    for (const auto& [key, names] : names_) {
      text += fmt::format(" {}{}: {}.", kReasons.at(key.first), key.second, join(names, "; "));
    }
    return text;
  }

 private:
  std::map<std::pair<AtLoss::Outcome, std::string>, std::vector<std::string>> names_;
};

/// "42.00 ± 0.20 (3)", or "(2; 1 not at it)" where a run that finished has no value there.
std::string format_at_loss(const Summary& summary, int digits, const ComparedCell& cell) {
  if (cell.count_done() == 0) return format_summary(summary, digits, cell);
  if (summary.n == 0) return fmt::format("none of {}", cell.runs.size());
  std::string text = format_summary(summary, digits, cell);
  const size_t absent = cell.count_done() - summary.n;
  if (absent > 0) text.insert(text.size() - 1, fmt::format("; {} not at it", absent));
  return text;
}

std::vector<std::string> labels_at(std::vector<std::string> row, double level) {
  row.push_back(format_number(level));
  return row;
}

}  // namespace

Table at_loss_table(const Comparison& comparison, const ReportedQuantity& quantity) {
  const size_t label_axes = comparison.axes.size() - 1;
  Table table{.name = "at_loss_" + quantity.name,
              .title = capitalized(fmt::format("{} at equal training loss", quantity.label)),
              .header = axis_names(comparison, label_axes),
              .label_columns = label_axes + 1,
              .rows = {},
              .note = ""};
  table.header.emplace_back("training loss");
  for (const std::string& heading : column_headings(comparison)) table.header.push_back(heading);
  Absent absent;
  for (const auto& row : comparison.rows()) {
    for (const double level : comparison.options.at_loss) {
      const CellValues values = [&](const ComparedCell& cell) {
        return values_at_loss(cell, quantity.name, level);
      };
      const std::set<std::string> bold = best_columns(comparison, row, quantity, values);
      std::vector<TableCell> line = label_cells(labels_at(row, level));
      add_columns(line, comparison, row, [&](const ComparedCell& cell) {
        const Summary summary = summarize(values(cell).values);
        absent.add(cell, level, quantity.name);
        // What lies between two records is no whole number, even of what is counted.
        return TableCell{.text = format_at_loss(summary, std::max(quantity.digits, 1), cell),
                         .is_bold = bold.contains(cell.labels.back()),
                         .anchor = anchor_of(comparison, cell),
                         .style = summary.n == 0 ? "missing" : ""};
      });
      table.rows.push_back(std::move(line));
    }
  }
  table.note = fmt::format(
      "Where the training loss in evaluation mode (not the running one) first falls to the level, linear "
      "between the two records around it. Mean ± standard deviation (n) over seeds.{}{}",
      quantity.is_judged
          ? fmt::format(" Bold (a star in plain text): the best mean of the row, and those that a paired t "
                        "test over shared seeds does not tell from it at {:.0f} %.",
                        100 * kTestLevel)
          : "",
      absent.words());
  return table;
}

}  // namespace batchplus
