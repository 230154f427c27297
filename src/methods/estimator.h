#pragma once

#include <functional>

#include "core/named_tensors.h"
#include "data/batch_source.h"
#include "kernels/vector_kernels.h"

namespace batchplus {

using kernels::EstimateTerms;

/// Moves w by one inner step with the estimate v_t; false when w is no longer finite, and then the run is
/// over.
using StepFunction = std::function<bool(const EstimateTerms&)>;

/// Turns an outer batch into the gradient estimates v_1 .. v_K, one for each inner step.
class Estimator {
 public:
  virtual ~Estimator() = default;

  /// Calls `step` K times, or until it returns false. `progress` is the fraction of the training that is
  /// done.
  virtual void run(const OuterBatch& outer, double progress, const StepFunction& step) = 0;

  /// The tensors that carry something from one outer batch to the next, defined since construction. A
  /// checkpoint saves them under these names and a resumed run copies into them.
  virtual NamedTensors state() const { return {}; }
};

/// What the cost of an outer batch depends on.
struct OuterBatchShape {
  int64_t samples = 0;
  /// Samples of an inner batch.
  int64_t inner_batch = 0;
  /// Whether a snapshot's inner gradients are kept.
  bool is_cached = false;

  int64_t inner_batches() const { return samples / inner_batch; }
  /// Vectors of all parameters that a Snapshot keeps: mu with a gradient of each batch and of the remainder;
  /// or mu, the point, two gradients and a sum in double, which counts twice.
  int64_t snapshot_vectors() const {
    constexpr int64_t kRecomputed = 6;
    const int64_t remainder = samples % inner_batch > 0 ? 1 : 0;
    return is_cached ? 1 + inner_batches() + remainder : kRecomputed;
  }
};

/// Sample gradients that an estimator takes for an outer batch. It is no member of the estimator: a plan
/// counts what a run will cost before anything of it exists.
using CostFunction = int64_t (*)(const OuterBatchShape& shape);
/// Vectors of all parameters, in floats, that an estimator keeps meanwhile.
using VectorsFunction = int64_t (*)(const OuterBatchShape& shape);

}  // namespace batchplus
