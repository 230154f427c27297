#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "methods/method.h"
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
  /// In gradient evaluations, in words.
  std::string cost_words;
  /// The coefficient when none is asked for; empty when the method has none.
  std::string coefficient = "";
  /// The outer batch when none is asked for: "1x", "2x", "all".
  std::string outer_batch = "1x";
  /// The name means B = n, so that no other outer batch can be asked for.
  bool is_full_batch = false;
  /// The update rule when none is asked for.
  std::string update = "plain";
  std::function<std::unique_ptr<Estimator>(GradientOracle&, const EstimatorOptions&)> make_estimator;
  CostFunction cost;
  VectorsFunction vectors;
  /// Keys of a config that only some estimators read, of those that this one does.
  std::vector<std::string> reads = {};
  /// With coefficient c, the c of the modified loss in docs/theory.md that the estimates follow. Null, or
  /// nothing, where that has no answer.
  std::optional<double> (*modified_loss_coefficient)(double c) = nullptr;
};

const std::vector<MethodInfo>& methods();

/// The row with that name, or an Error that names `where` and suggests the nearest one.
const MethodInfo& find_method(std::string_view name, std::string_view where);

/// A method with everything decided: what it is built from.
struct MethodPlan {
  /// A row of the table.
  const MethodInfo& info;
  EstimatorOptions estimator = {};
  UpdateOptions update = {};
  Method::Sizes sizes = {};

  /// Sample gradients of an outer batch of so many samples, with d parameters.
  int64_t cost(int64_t outer_size, int64_t parameters) const;
  /// Vectors of d parameters that it keeps besides the weights.
  int64_t vectors(int64_t parameters) const;

 private:
  OuterBatchShape shape(int64_t outer_size, int64_t parameters) const;
};

/// The plan of a row's defaults, but for the sizes of the batches.
MethodPlan default_plan(const MethodInfo& info, Method::Sizes sizes);

Method build_method(const MethodPlan& plan, GradientOracle& oracle);

}  // namespace batchplus
