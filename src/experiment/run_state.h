#pragma once

#include "experiment/run_probes.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

namespace batchplus {

/// Everything of a run that changes while it trains. Random numbers are no part of it: their streams are
/// functions of the seed, the epoch and the index.
struct RunState {
  const Model& model;
  FlatParameters& parameters;
  GradientOracle& oracle;
  GradientBudget& budget;
  Method& method;
  /// Null without warm-up.
  Method* warmup_method;
  RunProbes& probes;

  /// A copy of all of it.
  Checkpoint capture(const TrainState& state) const;

  /// Puts it back; returns where the training stands. An Error when the network or the method is another one,
  /// and then nothing was changed. `where` names the checkpoint.
  TrainState restore(const Checkpoint& checkpoint, const std::string& where);
};

}  // namespace batchplus
