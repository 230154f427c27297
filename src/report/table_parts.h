#pragma once

#include <set>

#include "report/comparison.h"
#include "report/quantities.h"
#include "report/table.h"

namespace batchplus {

// What the tables of a report are made of.

enum class RunValue { kFinal, kBest };

/// Values of the runs of a cell that finished, with their seeds.
SeedValues values_of(const ComparedCell& cell, const ReportedQuantity& quantity, RunValue which);

/// What is compared of a cell: values of its runs, with their seeds.
using CellValues = std::function<SeedValues(const ComparedCell& cell)>;

/// A paired test at this level tells two columns apart.
inline constexpr double kTestLevel = 0.05;

/// The columns of a row to be bold: the best mean, and those that a paired test does not tell from it.
/// None where a quantity is neither good nor bad.
std::set<std::string> best_columns(const Comparison& comparison, const std::vector<std::string>& row,
                                   const ReportedQuantity& quantity, const CellValues& values);

/// Over the seeds that both have.
PairedTest compare_cells(const SeedValues& a, const SeedValues& b);

/// With so many digits after the point.
std::string fixed(double value, int digits);

/// "92.94 ± 0.16 (5)", and what happened to runs that are not among the n.
std::string format_summary(const Summary& summary, int digits, const ComparedCell& cell);

/// "92.94 ± 0.16", without the deviation of a single value.
std::string format_mean(const Summary& summary, int digits);

/// The anchor of a cell on the page.
std::string anchor_of(const Comparison& comparison, const ComparedCell& cell);

/// The labels of the last axis as headings; a number is said of what.
std::vector<std::string> column_headings(const Comparison& comparison);

/// Adds a cell for each column of a row, as `show` makes it; an empty one where the grid has none.
void add_columns(std::vector<TableCell>& line, const Comparison& comparison,
                 const std::vector<std::string>& row,
                 const std::function<TableCell(const ComparedCell& cell)>& show);

/// With a capital letter.
std::string capitalized(std::string text);

std::vector<TableCell> label_cells(const std::vector<std::string>& labels);
/// Of the first `count` axes.
std::vector<std::string> axis_names(const Comparison& comparison, size_t count);

}  // namespace batchplus
