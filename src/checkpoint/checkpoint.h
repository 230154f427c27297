#pragma once

#include <optional>
#include <string>

#include "core/gradient_budget.h"
#include "core/named_tensors.h"
#include "metrics/control_variate_probe.h"
#include "objective/gradient_oracle.h"
#include "train/train_state.h"
#include "util/json.h"

namespace batchplus {

/// The format that this program writes; checkpoints of another one are refused.
inline constexpr int kCheckpointFormatVersion = 1;

/// More than any machine has: a larger number was not written by a run.
inline constexpr int64_t kMostThreads = 4096;

/// What the bits of a run depend on.
struct RunIdentity {
  /// What decides the result, as result_toml writes it.
  std::string config;
  /// A fingerprint of the training samples.
  std::string data;
  /// Those of libtorch's kernels.
  int threads = 0;
  /// Whether all processes of the run so far gave bits that every machine gives. Nothing: a checkpoint from
  /// before, which does not say.
  std::optional<bool> has_portable_bits = {};
};

/// A run at one moment: everything that a continuation depends on. Random numbers are no part of it: their
/// streams are functions of the seed, the epoch and the index.
struct Checkpoint {
  RunIdentity identity = {};
  /// metrics.jsonl.
  std::string records = {};
  TrainState train = {};
  GradientBudget spent = {};
  /// Behind the next record.
  GradientOracle::LossSum losses = {};
  ControlVariateProbe::Sums control_variate = {};
  /// Of the parameters: a digest of their names, shapes and order in memory. Vectors of all parameters mean
  /// nothing under another order.
  std::string parameter_layout = {};
  /// The network's state dict; then what the methods keep, under reserved names (formats/state_dict_file.h).
  NamedTensors tensors = {};
};

/// All of it but the tensors.
Json to_json(const Checkpoint& checkpoint);

/// The checkpoint with these tensors. An Error that names `where` when something is missing or impossible, or
/// the format is another one.
Checkpoint to_checkpoint(const Json& json, NamedTensors tensors, const std::string& where);

}  // namespace batchplus
