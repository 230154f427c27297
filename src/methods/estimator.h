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

  /// Sample gradients that an outer batch of `outer_size` samples costs, with inner batches of `inner_size`.
  virtual int64_t cost(int64_t outer_size, int64_t inner_size) const = 0;
};

}  // namespace batchplus
