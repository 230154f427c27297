#pragma once

#include <set>

#include "experiment/run_config.h"
#include "methods/method.h"
#include "metrics/control_variate_probe.h"
#include "metrics/registry.h"
#include "util/progress.h"

namespace batchplus {

/// What a training run measures of itself. Nothing of it changes the training.
class RunProbes {
 public:
  /// What cannot be measured as the config wants it is an Error here, before anything is trained.
  RunProbes(const RunConfig& config, Measurer::Subject subject, Progress& progress);

  bool is_empty() const { return groups_.empty(); }
  /// Lets the live probes see the method's steps.
  void watch(Method& method);
  /// What there is to record about an epoch; `is_due` says whether to measure after it.
  std::vector<Quantity> measure(bool is_due);

  /// The part that gathers over many steps.
  ControlVariateProbe& control_variate() { return control_variate_; }

 private:
  Measurer make_measurer();

  std::vector<std::string> groups_;
  MeasureOptions options_;
  Measurer::Subject subject_;
  Progress& progress_;
  ControlVariateProbe control_variate_;
  /// Notes that the user has read.
  std::set<std::string> told_;
};

}  // namespace batchplus
