#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/curves.h"
#include "report/metric_gaps.h"
#include "report/table.h"

namespace batchplus {

/// Everything that a report shows.
struct ReportContent {
  Comparison comparison = {};
  std::vector<Table> tables = {};
  std::vector<Panel> panels = {};
  std::vector<MetricGap> gaps = {};
  /// Key to the different values that the runs have.
  std::vector<std::pair<std::string, std::vector<std::string>>> provenance = {};
  std::string made = {};
  /// Whether there is something in figures/.
  bool has_figure_files = true;
};

/// "18 of 20 done, 1 diverged, 1 missing".
std::string describe_runs(const Comparison& comparison);

/// What the page's scripts draw from.
Json page_data(const ReportContent& content);

/// Tables and notes as the page shows them.
std::string tables_html(const ReportContent& content);
std::string notes_html(const Comparison& comparison);

/// The same page for runs that are watched: it takes style and scripts from beside it, and what it shows from
/// `batchplus watch`.
std::string make_live_page(const std::string& title);

/// One HTML file that needs nothing else. Links to run directories are relative to `directory`.
std::string make_page(const ReportContent& content, const std::filesystem::path& directory);

}  // namespace batchplus
