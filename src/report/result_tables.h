#pragma once

#include "report/comparison.h"
#include "report/quantities.h"
#include "report/table.h"

namespace batchplus {

enum class RunValue { kFinal, kBest };

/// "92.94 ± 0.16 (5)", and what happened to runs that are not among the n.
std::string format_summary(const Summary& summary, int digits, const ComparedCell& cell);

/// The anchor of a cell on the page.
std::string anchor_of(const Comparison& comparison, const ComparedCell& cell);

/// The grid: a row for the labels of all axes but the last, whose labels are the columns.
Table result_table(const Comparison& comparison, const ReportedQuantity& quantity, RunValue value);

/// A line for every cell: confidence interval, training accuracy, gaps, costs.
Table cell_table(const Comparison& comparison, const ReportedQuantity& quantity);

/// Columns against each other within each row, over the seeds that both have.
Table paired_table(const Comparison& comparison, const ReportedQuantity& quantity);

/// The values that were tried, and which of them counts.
Table choice_table(const Comparison& comparison, const std::vector<ChoiceOutcome>& outcomes);

/// Everything about every cell as plain numbers, for other programs.
std::string cells_csv(const Comparison& comparison, const ReportedQuantity& quantity);

}  // namespace batchplus
