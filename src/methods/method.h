#pragma once

#include <memory>

#include "methods/estimator.h"
#include "methods/update_rule.h"

namespace batchplus {

/// An estimator joined with an update rule and the sizes of its batches: what a training loop runs.
class Method {
 public:
  struct Sizes {
    /// B.
    int64_t outer_batch;
    /// b.
    int64_t inner_batch;
  };
  struct Outcome {
    int64_t inner_steps = 0;
    /// When false, the last of these steps made a weight infinite or NaN.
    bool is_finite = true;
  };

  /// Sees the terms of every estimate before the step is made with them; t counts the inner steps of the
  /// outer batch from 0.
  using StepObserver = std::function<void(int64_t t, const EstimateTerms& estimate)>;

  Method(std::unique_ptr<Estimator> estimator, UpdateRule update_rule, Sizes sizes);

  void set_step_observer(StepObserver observer) { observer_ = std::move(observer); }

  /// One outer batch, with the learning rate held fixed.
  Outcome run(const OuterBatch& outer, double progress, double learning_rate);

  /// What carries over from one outer batch to the next: the estimator's state and the update rule's.
  NamedTensors state() const;

  int64_t outer_batch_size() const { return sizes_.outer_batch; }
  /// Sample gradients that an outer batch of `outer_size` samples costs.
  int64_t cost(int64_t outer_size) const { return estimator_->cost(outer_size, sizes_.inner_batch); }

 private:
  std::unique_ptr<Estimator> estimator_;
  UpdateRule update_rule_;
  Sizes sizes_;
  StepObserver observer_;
};

}  // namespace batchplus
