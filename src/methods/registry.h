#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "methods/estimator.h"
#include "methods/schedule.h"
#include "methods/update_rule.h"
#include "objective/snapshot.h"

namespace batchplus {

/// What an estimator may need beyond the oracle; each takes what concerns it.
struct EstimatorOptions {
  CoefficientSchedule coefficient = {};
  SnapshotOptions snapshot = {};
  /// rho of SAM.
  double radius = 0.05;
};

/// A row of the table of methods: an estimator with an update rule and the defaults that give the name its
/// meaning.
struct MethodInfo {
  std::string name;
  std::string equation;
  /// In gradient evaluations.
  std::string cost;
  /// Default of --coefficient; empty when the method has none.
  std::string coefficient;
  /// Default of --outer-batch: "1x", "2x", "all".
  std::string outer_batch;
  /// The name means B = n, so that no other outer batch can be asked for.
  bool is_full_batch;
  /// Default of --update-rule.
  UpdateKind update;
  std::function<std::unique_ptr<Estimator>(GradientOracle&, const EstimatorOptions&)> make_estimator;
  /// Sample gradients of an outer batch, when the snapshot's inner gradients are kept or not.
  int64_t (*cost_of)(int64_t outer_size, int64_t inner_size, bool is_cached);
};

const std::vector<MethodInfo>& methods();

/// The row with that name, or an Error that names `where` and suggests the nearest one.
const MethodInfo& find_method(const std::string& name, const std::string& where);

}  // namespace batchplus
