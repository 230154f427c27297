#pragma once

#include "report/comparison.h"
#include "report/quantities.h"
#include "report/table.h"

namespace batchplus {

// What the tables of a report are made of.

enum class RunValue { kFinal, kBest };

/// Values of the runs of a cell that finished, with their seeds.
SeedValues values_of(const ComparedCell& cell, const ReportedQuantity& quantity, RunValue which);

/// Over the seeds that both have.
PairedTest compare_cells(const SeedValues& a, const SeedValues& b);

/// With so many digits after the point.
std::string fixed(double value, int digits);

/// "92.94 ± 0.16 (5)", and what happened to runs that are not among the n.
std::string format_summary(const Summary& summary, int digits, const ComparedCell& cell);

/// The anchor of a cell on the page.
std::string anchor_of(const Comparison& comparison, const ComparedCell& cell);

std::vector<TableCell> label_cells(const std::vector<std::string>& labels);
/// Of the first `count` axes.
std::vector<std::string> axis_names(const Comparison& comparison, size_t count);

}  // namespace batchplus
