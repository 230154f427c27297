#pragma once

#include <filesystem>

#include "report/comparison.h"

namespace batchplus {

struct WrittenReport {
  /// The comparison with its choices settled.
  Comparison comparison;
  /// The tables as plain text.
  std::string text;
  /// For other programs: runs, cells, tables and figures.
  Json json;
};

/// Reads the runs of a comparison and writes index.html, report.md, tables/ (text, Markdown, LaTeX, CSV) and
/// figures/ (SVG, PDF, PNG) into a directory, replacing the files of an earlier report and no others
/// (ReportDirectory); without figures, earlier ones stay. An Error when there is not a single finished run.
WrittenReport write_report(Comparison comparison, const std::filesystem::path& directory,
                           bool has_figures = true);

}  // namespace batchplus
