#pragma once

#include <string>
#include <vector>

#include "metrics/measurer.h"
#include "metrics/quantity.h"

namespace batchplus {

/// A row of the table of groups of quantities.
struct MetricGroup {
  std::string name;
  std::string help;
  /// The names of what it gives, in order.
  std::vector<std::string> quantities;
  MetricNeeds needs = {};
  /// Null for what can only be seen while training.
  std::vector<Quantity> (*measure)(Measurer& measurer);
};

const std::vector<MetricGroup>& metric_groups();

/// The group that watches the control variate while training.
inline constexpr const char* kControlVariateGroup = "control-variate";

/// The group that depends on how the weights are trained.
inline constexpr const char* kImplicitRegularizationGroup = "implicit-regularization";

/// Which groups to choose from.
enum class MetricUse {
  /// Those that weights alone allow.
  kMeasure,
  /// And those of a run.
  kTrain,
};

/// The groups of a list like "gradient-norms,gaps"; "all" means every one; empty text none. `where` names the
/// option in an Error.
std::vector<std::string> parse_metric_groups(const std::string& text, MetricUse use,
                                             const std::string& where);

/// An Error for what the groups cannot do with the measurer's options, before anything is computed.
void require_possible(const Measurer& measurer, const std::vector<std::string>& groups);

/// The quantities of the groups, in the table's order.
std::vector<Quantity> measure_groups(Measurer& measurer, const std::vector<std::string>& groups);

/// What the control-variate group gives.
struct ControlVariateDiagnostics;
std::vector<Quantity> to_quantities(const ControlVariateDiagnostics& diagnostics);

}  // namespace batchplus
