#pragma once

#include <optional>
#include <string>

#include "report/comparison.h"

namespace batchplus {

/// A run's value at a level of the evaluated training loss, and what came in the way where it has none.
struct AtLoss {
  enum class Outcome {
    kReached,
    /// Every record is above the level.
    kNever,
    /// The first record is already below it, and nothing says where the run crossed it.
    kBelowFromTheStart,
    /// No record has both the quantity and an evaluated training loss.
    kNotRecorded,
  };
  Outcome outcome = Outcome::kNotRecorded;
  std::optional<double> value = {};
};

/// At the first crossing: of the records that have the quantity and an evaluated training loss, the first one
/// at or below the level and the one before it, between which both are taken to be linear:
///   q = q_0 + (L_0 - level) / (L_0 - L_1) (q_1 - q_0)
AtLoss value_at_loss(const StoredRun& run, const std::string& quantity, double level);

/// Over the runs of a cell that finished and reached the level.
SeedValues values_at_loss(const ComparedCell& cell, const std::string& quantity, double level);

/// An Error that names the metric group when no run has recorded an evaluated training loss.
void require_evaluated_train_loss(const Comparison& comparison);

}  // namespace batchplus
