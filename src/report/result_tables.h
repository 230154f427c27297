#pragma once

#include "report/table_parts.h"

namespace batchplus {

/// The grid: a row for the labels of all axes but the last, whose labels are the columns.
Table result_table(const Comparison& comparison, const ReportedQuantity& quantity, RunValue value);

/// A line for every cell: confidence interval, training accuracy, gaps, costs.
Table cell_table(const Comparison& comparison, const ReportedQuantity& quantity);

/// Columns against each other within each row, over the seeds that both have.
Table paired_table(const Comparison& comparison, const ReportedQuantity& quantity);

/// The same at the levels of the training loss that the options name: a row for each level.
Table at_loss_table(const Comparison& comparison, const ReportedQuantity& quantity);
Table at_loss_paired_table(const Comparison& comparison, const ReportedQuantity& quantity);

/// The values that were tried, and which of them counts.
Table choice_table(const Comparison& comparison, const std::vector<ChoiceOutcome>& outcomes);

/// Everything about every cell as plain numbers, for other programs.
std::string cells_csv(const Comparison& comparison, const ReportedQuantity& quantity);

}  // namespace batchplus
