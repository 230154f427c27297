#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/report_options.h"
#include "store/run_directory.h"

namespace batchplus {

/// A number of a run's records that a report can show.
struct ReportedQuantity {
  /// The key in metrics.jsonl and status.json.
  std::string name = {};
  /// For headings and axes.
  std::string label = {};
  /// Digits after the point.
  int digits = 4;
  bool is_higher_better = false;
  /// Whether an epoch can be the best one by it: not where it grows with every epoch, or is neither good nor
  /// bad.
  bool has_best = true;
  /// Whether a method can be the best one by it.
  bool is_judged = true;
  /// Spans orders of magnitude: drawn on a logarithmic axis.
  bool is_log = false;
  /// Measured by --metrics to say something about generalisation.
  bool is_metric = false;
};

const std::vector<ReportedQuantity>& reported_quantities();
/// An Error that names `where` and the nearest quantity when there is none.
const ReportedQuantity& find_quantity(std::string_view name, std::string_view where);

/// An Error unless there are all quantities that a report is to show. `where` names what asks for them.
void require_quantities(const ReportOptions& options, const std::string& where);

/// A record's value, whether a plain number or an object with a value; nothing when absent or not finite.
std::optional<double> value_of(const Json& record, const std::string& name);

/// The training loss in evaluation mode, as the metric group `gaps` records it beside loss_gap; not the
/// running loss.
std::optional<double> evaluated_train_loss(const Json& record);

/// A quantity of a record, also where it stands beside a gap: train_loss, train_accuracy.
std::optional<double> recorded_value(const Json& record, const std::string& name);

/// `batchnorm` of a measured number: by which statistics it was computed. Nothing where that makes no
/// difference.
std::optional<std::string> statistics_of(const Json& record, const std::string& name);

/// The value at the end of training; the gaps over all samples, whether they were measured or not.
std::optional<double> final_value(const StoredRun& run, const std::string& name);
/// The best value of all epochs; nothing where a quantity has none.
std::optional<double> best_value(const StoredRun& run, const ReportedQuantity& quantity);

}  // namespace batchplus
