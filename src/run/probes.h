#pragma once

#include <set>

#include "metrics/control_variate_probe.h"
#include "run/run_plan.h"
#include "train/callback.h"
#include "util/progress.h"

namespace batchplus {

/// What a training run measures of itself. Nothing of it changes the training.
class Probes : public TrainCallback {
 public:
  /// What cannot be measured as the plan wants it is an Error here, before anything is trained. `group`
  /// shares the samples out; may be null.
  Probes(const RunPlan& plan, Measurer::Subject subject, Group* group, Progress& progress);

  /// Lets the live probes see the method's steps.
  void watch(Method& method);
  void after_epoch(const EpochEnd& end) override;

  /// The part that gathers over many steps.
  ControlVariateProbe& control_variate() { return control_variate_; }

 private:
  /// Of the weights at the end of that epoch.
  Measurer make_measurer(const EpochRecord& record);
  /// What there is to record about an epoch; `is_due` says whether to measure after it.
  std::vector<Quantity> measure(const EpochRecord& record, bool is_due);

  const RunPlan& plan_;
  Measurer::Subject subject_;
  Group* group_;
  Progress& progress_;
  ControlVariateProbe control_variate_;
  /// Notes that the user has read.
  std::set<std::string> told_;
};

}  // namespace batchplus
