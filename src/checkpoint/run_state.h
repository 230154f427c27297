#pragma once

#include "checkpoint/checkpoint.h"
#include "methods/method.h"
#include "methods/weight_average.h"
#include "networks/model.h"

namespace batchplus {

/// Everything of a run that changes while it trains, but for where the training stands.
struct RunState {
  const Model& model;
  FlatParameters& parameters;
  GradientOracle& oracle;
  GradientBudget& budget;
  Method& method;
  /// Null without warm-up.
  Method* warmup_method;
  ControlVariateProbe& control_variate;
  /// Null without one.
  WeightAverage* average = nullptr;

  /// A copy of all of it, with where the training stands, whose run it is, and its records so far.
  Checkpoint capture(const TrainState& train, const RunIdentity& identity, const std::string& records) const;

  /// Puts it back. An Error when the network or the method is another one, and then nothing was changed.
  /// `where` names the checkpoint.
  void restore(const Checkpoint& checkpoint, const std::string& where);
};

}  // namespace batchplus
