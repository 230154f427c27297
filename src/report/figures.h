#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/curves.h"
#include "report/metric_gaps.h"

namespace batchplus {

/// Draws each panel, all of them together, and each metric against the gaps with gnuplot: SVG, PDF and PNG,
/// beside the script and the data they are made of. `columns` names what is compared, a colour each. Returns
/// the names of the pictures, without endings. An Error when gnuplot is missing or fails.
std::vector<std::string> draw_figures(const std::vector<Panel>& panels, const std::vector<MetricGap>& gaps,
                                      const std::vector<std::string>& columns, const ReportOptions& options,
                                      const std::filesystem::path& directory);

}  // namespace batchplus
