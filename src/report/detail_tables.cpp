#include "report/result_tables.h"

#include <fmt/format.h>

#include "report/table_parts.h"
#include "util/text.h"

namespace batchplus {
namespace {

TableCell mean_cell(const ComparedCell& cell, const std::string& quantity, int digits) {
  const Summary summary = summarize(final_values(cell, quantity).values);
  return {.text = summary.n == 0 ? "-" : fixed(summary.mean, digits)};
}

}  // namespace

Table cell_table(const Comparison& comparison, const ReportedQuantity& quantity) {
  const size_t axes = comparison.axes.size();
  Table table{.name = quantity.name + "_cells",
              .title = "Every cell: spread, gaps and cost",
              .header = axis_names(comparison, axes),
              .label_columns = axes,
              .rows = {},
              .note =
                  "Interval: 95 % confidence of the mean (Student's t). Gaps: test minus training loss, and "
                  "training minus "
                  "test accuracy, in evaluation mode without augmentation. Evaluations: gradients of b "
                  "samples. Seconds: "
                  "training alone. Means over seeds."};
  if (!comparison.choice_key.empty()) table.header.push_back(comparison.choice_key);
  for (const char* name : {"n", "mean", "std", "95 % interval", "best", "training accuracy", "loss gap",
                           "accuracy gap", "evaluations", "seconds"}) {
    table.header.emplace_back(name);
  }
  for (const ComparedCell& cell : comparison.cells) {
    const Summary summary = summarize(final_values(cell, quantity.name).values);
    const Summary best = summarize(values_of(cell, quantity, RunValue::kBest).values);
    const auto number = [&](std::optional<double> value) {
      return TableCell{.text = value ? fixed(*value, quantity.digits) : "-"};
    };
    std::vector<TableCell> line = label_cells(cell.labels);
    if (!comparison.choice_key.empty()) line.push_back({.text = cell.choice});
    line.push_back({.text = std::to_string(summary.n), .anchor = anchor_of(comparison, cell)});
    line.push_back(number(summary.n > 0 ? std::optional(summary.mean) : std::nullopt));
    line.push_back(number(summary.std));
    line.push_back(
        {.text = summary.half_width
                     ? fmt::format("{} to {}", fixed(summary.mean - *summary.half_width, quantity.digits),
                                   fixed(summary.mean + *summary.half_width, quantity.digits))
                     : "-"});
    line.push_back(number(best.n > 0 ? std::optional(best.mean) : std::nullopt));
    line.push_back(mean_cell(cell, "train_accuracy", 2));
    line.push_back(mean_cell(cell, "loss_gap", 4));
    line.push_back(mean_cell(cell, "accuracy_gap", 2));
    line.push_back(mean_cell(cell, "gradient_evaluations", 0));
    line.push_back(mean_cell(cell, "seconds", 1));
    table.rows.push_back(std::move(line));
  }
  return table;
}

Table choice_table(const Comparison& comparison, const std::vector<ChoiceOutcome>& outcomes) {
  const bool is_on_test = comparison.choice_by.starts_with("test");
  Table table{
      .name = "choices",
      .title =
          fmt::format("Choice of {}, on {} data", comparison.choice_key, is_on_test ? "test" : "validation"),
      .header = axis_names(comparison, comparison.axes.size()),
      .label_columns = comparison.axes.size() + 1,
      .rows = {},
      .note = fmt::format(
          "Bold: the value that counts, the one with the fewest diverged runs and of those the highest "
          "mean.{}",
          is_on_test ? " Chosen on test data: the chosen one's accuracy is a little too good." : "")};
  table.header.push_back(comparison.choice_key);
  table.header.push_back(comparison.choice_by);
  table.header.emplace_back("n");
  table.header.emplace_back("diverged");
  for (const ChoiceOutcome& outcome : outcomes) {
    for (const auto& candidate : outcome.candidates) {
      std::vector<TableCell> line = label_cells(outcome.labels);
      line.push_back({.text = candidate.value, .is_bold = candidate.is_chosen});
      std::string score = candidate.score.n > 0 ? fixed(candidate.score.mean, 2) : "-";
      if (candidate.score.std) score += " ± " + fixed(*candidate.score.std, 2);
      line.push_back({.text = score, .is_bold = candidate.is_chosen});
      line.push_back({.text = std::to_string(candidate.score.n)});
      line.push_back({.text = std::to_string(candidate.diverged)});
      table.rows.push_back(std::move(line));
    }
  }
  return table;
}

std::string cells_csv(const Comparison& comparison, const ReportedQuantity& quantity) {
  Table table{.header = axis_names(comparison, comparison.axes.size())};
  for (const char* name : {"choice", "n", "diverged", "missing", "final_mean", "final_std", "interval_low",
                           "interval_high", "best_mean", "best_std", "published_mean", "published_std",
                           "difference", "best_difference", "runs"}) {
    table.header.emplace_back(name);
  }
  const auto number = [](std::optional<double> value) {
    return TableCell{.text = value ? format_number(*value) : ""};
  };
  for (const ComparedCell& cell : comparison.cells) {
    const Summary last = summarize(final_values(cell, quantity.name).values);
    const Summary best = summarize(values_of(cell, quantity, RunValue::kBest).values);
    const auto if_any = [](const Summary& summary, double value) {
      return summary.n > 0 ? std::optional(value) : std::nullopt;
    };
    std::vector<std::string> ids;
    for (const ComparedRun& run : cell.runs) ids.push_back(run.id);
    std::vector<TableCell> line = label_cells(cell.labels);
    line.push_back({.text = cell.choice});
    for (const size_t count : {last.n, cell.count_diverged(), cell.count_missing()}) {
      line.push_back({.text = std::to_string(count)});
    }
    line.push_back(number(if_any(last, last.mean)));
    line.push_back(number(last.std));
    line.push_back(number(last.half_width ? std::optional(last.mean - *last.half_width) : std::nullopt));
    line.push_back(number(last.half_width ? std::optional(last.mean + *last.half_width) : std::nullopt));
    line.push_back(number(if_any(best, best.mean)));
    line.push_back(number(best.std));
    const PublishedValue* published = cell.find_published(quantity.name);
    line.push_back(number(published ? std::optional(published->mean) : std::nullopt));
    line.push_back(number(published ? published->std : std::nullopt));
    for (const Summary& ours : {last, best}) {
      line.push_back(number(published ? if_any(ours, ours.mean - published->mean) : std::nullopt));
    }
    line.push_back({.text = join(ids, " ")});
    table.rows.push_back(std::move(line));
  }
  return to_csv(table);
}

}  // namespace batchplus
