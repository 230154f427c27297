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

  /// Called with the terms of every estimate before the step is made with them; t counts the inner steps of
  /// the outer batch from 0.
  using BeforeStep = std::function<void(int64_t t, const EstimateTerms& estimate)>;
  /// Sample gradients that an outer batch of so many samples costs.
  using Cost = std::function<int64_t(int64_t outer_size)>;

  Method(std::unique_ptr<Estimator> estimator, std::unique_ptr<UpdateRule> update_rule, Sizes sizes,
         Cost cost);

  void set_before_step(BeforeStep before_step) { before_step_ = std::move(before_step); }
  /// Called after every step that left w finite.
  void set_after_step(std::function<void()> after_step) { after_step_ = std::move(after_step); }

  /// One outer batch, with the learning rate held fixed.
  Outcome run(const OuterBatch& outer, double progress, double learning_rate);

  /// What carries over from one outer batch to the next: the estimator's state and the update rule's.
  NamedTensors state() const;

  int64_t outer_batch_size() const { return sizes_.outer_batch; }
  /// Sample gradients that an outer batch of `outer_size` samples costs.
  int64_t cost(int64_t outer_size) const { return cost_(outer_size); }

 private:
  std::unique_ptr<Estimator> estimator_;
  std::unique_ptr<UpdateRule> update_rule_;
  Sizes sizes_;
  Cost cost_;
  BeforeStep before_step_;
  std::function<void()> after_step_;
};

}  // namespace batchplus
