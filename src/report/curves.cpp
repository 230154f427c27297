#include "report/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "util/text.h"

namespace batchplus {
namespace {

/// The values of the runs at one epoch.
struct Moment {
  std::map<std::string, std::vector<double>> x;
  std::vector<double> values;
};

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& values) {
  return summarize(values).mean;
}

Curve make_curve(const ComparedCell& cell, const std::string& quantity) {
  std::map<double, Moment> moments;
  Curve curve{.name = cell.labels.back(), .diverged = cell.count_diverged()};
  for (const ComparedRun& run : cell.runs) {
    // One that runs, as `watch` shows it, is in as far as it is; diverged ones are counted.
    if (!run.record || run.is_diverged()) continue;
    bool is_in = false;
    for (const Json& record : run.record->metrics) {
      const auto value = value_of(record, quantity);
      const auto epoch = value_of(record, "epoch");
      if (!value || !epoch) continue;
      Moment& moment = moments[*epoch];
      moment.values.push_back(*value);
      for (const XAxis& axis : x_axes()) {
        if (const auto x = recorded_value(record, axis.key)) moment.x[axis.name].push_back(*x);
      }
      is_in = true;
    }
    if (is_in) ++curve.n;
  }
  for (const auto& [epoch, moment] : moments) {
    for (const XAxis& axis : x_axes()) {
      const auto values = moment.x.find(axis.name);
      const bool is_known = values != moment.x.end() && values->second.size() == moment.values.size();
      curve.x[axis.name].push_back(is_known ? mean_of(values->second) : kUnknown);
    }
    const Summary summary = summarize(moment.values);
    curve.mean.push_back(summary.mean);
    if (curve.n > 1) curve.std.push_back(summary.std.value_or(kUnknown));
    curve.counts.push_back(moment.values.size());
  }
  std::erase_if(curve.x, [](const auto& axis) {
    return std::none_of(axis.second.begin(), axis.second.end(), [](double x) { return std::isfinite(x); });
  });
  return curve;
}

/// Letters, digits and dashes of a label, if there are any.
std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '-') {
      name.push_back('-');
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  constexpr size_t kLongest = 100;
  return name.empty() ? "row" : name.substr(0, kLongest);
}

/// The same, or with a number behind it where another row has it already: "c = 3" and "c = -3" have the same
/// letters and digits.
std::string unused_name(const std::string& wanted, std::set<std::string>& used) {
  std::string name = wanted;
  for (int number = 2; !used.insert(name).second; ++number) name = fmt::format("{}-{}", wanted, number);
  return name;
}

}  // namespace

std::vector<Panel> make_panels(const Comparison& comparison) {
  std::vector<Panel> panels;
  std::set<std::string> names;
  for (const std::string& name : comparison.options.curves) {
    const ReportedQuantity quantity = find_measured_quantity(comparison, name, "curves");
    for (const auto& row : comparison.rows()) {
      Panel panel{.name = name, .title = join(row, ", "), .quantity = quantity, .curves = {}};
      if (!row.empty())
        panel.name = unused_name(fmt::format("{}-{}", name, file_name(join(row, "-"))), names);
      const auto& columns = comparison.columns().labels;
      for (size_t i = 0; i < columns.size(); ++i) {
        const ComparedCell* cell = comparison.find(row, columns[i]);
        if (cell == nullptr) continue;
        Curve curve = make_curve(*cell, name);
        curve.index = i;
        if (!cell->choice.empty()) curve.name += fmt::format(", {} {}", comparison.choice_key, cell->choice);
        if (!curve.mean.empty() || curve.diverged > 0) panel.curves.push_back(std::move(curve));
      }
      const bool is_drawable = std::any_of(panel.curves.begin(), panel.curves.end(),
                                           [](const Curve& curve) { return !curve.mean.empty(); });
      if (is_drawable) panels.push_back(std::move(panel));
    }
  }
  return panels;
}

std::vector<double> moving_average(const std::vector<double>& values, int64_t window) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known),
               [](double value) { return std::isfinite(value); });
  const auto size = static_cast<int64_t>(known.size());
  std::vector<double> result;
  int64_t i = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      result.push_back(kUnknown);
      continue;
    }
    const int64_t reach = std::min({(window - 1) / 2, i, size - 1 - i});
    const auto begin = known.begin() + (i - reach);
    const auto end = known.begin() + (i + reach + 1);
    result.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(2 * reach + 1));
    ++i;
  }
  return result;
}

}  // namespace batchplus
