#include "report/result_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "util/text.h"

namespace batchplus {
namespace {

/// Up to so many columns are compared each with each, more with the first one only.
constexpr size_t kMostPaired = 4;
constexpr double kLevel = 0.05;

SeedValues values_of(const ComparedCell& cell, const ReportedQuantity& quantity, RunValue which) {
  if (which == RunValue::kFinal) return final_values(cell, quantity.name);
  SeedValues result;
  for (const ComparedRun& run : cell.runs) {
    if (!run.is_done()) continue;
    const auto value = best_value(*run.record, quantity);
    if (!value) continue;
    result.seeds.push_back(run.seed);
    result.values.push_back(*value);
  }
  return result;
}

std::string fixed(double value, int digits) {
  return fmt::format("{:.{}f}", value, digits);
}

std::string format_published(const PublishedNumber& published, int digits) {
  std::string text = fixed(published.mean, digits);
  if (published.std) text += " ± " + fixed(*published.std, digits);
  return text;
}

std::string format_p(double p) {
  constexpr double kLeast = 0.001;
  return p < kLeast ? "< 0.001" : fixed(p, 3);
}

/// Pairs the values of two cells by seed.
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

TableCell mean_cell(const ComparedCell& cell, const std::string& quantity, int digits) {
  const Summary summary = summarize(final_values(cell, quantity).values);
  return {.text = summary.n == 0 ? "-" : fixed(summary.mean, digits)};
}

}  // namespace

std::string format_summary(const Summary& summary, int digits, const ComparedCell& cell) {
  const size_t diverged = cell.count_diverged();
  const size_t missing = cell.count_missing();
  if (summary.n == 0 && diverged > 0) return fmt::format("diverged ({})", diverged);
  if (summary.n == 0) return fmt::format("none of {}", cell.runs.size());
  std::string text = fixed(summary.mean, digits);
  if (summary.std) text += " ± " + fixed(*summary.std, digits);
  text += fmt::format(" ({}", summary.n);
  if (diverged > 0) text += fmt::format("; {} diverged", diverged);
  if (missing > 0) text += fmt::format("; {} missing", missing);
  return text + ")";
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
      // The published numbers are of the paper's accuracies at the end.
      if (is_final && cell->published && quantity.name == "test_accuracy") {
        has_published = true;
        shown.note = "paper " + format_published(*cell->published, quantity.digits);
        if (summary.n > 0) {
          shown.note += fmt::format(", {:+.{}f}", summary.mean - cell->published->mean, quantity.digits);
        }
      }
      line.push_back(std::move(shown));
    }
    table.rows.push_back(std::move(line));
  }
  table.note = fmt::format(
      "Mean ± standard deviation (n) over seeds. Bold (a star in plain text): the best mean of the row, and "
      "those that a paired t "
      "test over shared seeds does not tell from it at {:.0f} %.",
      100 * kLevel);
  if (has_published) table.note += " Below: the paper's number, and how far ours is from it.";
  return table;
}

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
    line.push_back(mean_cell(cell, "seconds", 0));
    table.rows.push_back(std::move(line));
  }
  return table;
}

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
          is_on_test ? " Chosen on test data, as in the paper: its accuracy is a little too good." : "")};
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
  for (const char* name :
       {"choice", "n", "diverged", "missing", "final_mean", "final_std", "interval_low", "interval_high",
        "best_mean", "best_std", "published_mean", "published_std", "difference", "runs"}) {
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
    const bool is_published = cell.published && quantity.name == "test_accuracy";
    line.push_back(number(is_published ? std::optional(cell.published->mean) : std::nullopt));
    line.push_back(number(is_published ? cell.published->std : std::nullopt));
    line.push_back(number(is_published ? if_any(last, last.mean - cell.published->mean) : std::nullopt));
    line.push_back({.text = join(ids, " ")});
    table.rows.push_back(std::move(line));
  }
  return to_csv(table);
}

}  // namespace batchplus
