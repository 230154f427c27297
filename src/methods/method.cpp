#include "methods/method.h"

namespace batchplus {

Method::Method(std::unique_ptr<Estimator> estimator, std::unique_ptr<UpdateRule> update_rule, Sizes sizes,
               Cost cost)
    : estimator_(std::move(estimator)),
      update_rule_(std::move(update_rule)),
      sizes_(sizes),
      cost_(std::move(cost)) {}

Method::Outcome Method::run(const OuterBatch& outer, double progress, double learning_rate) {
  Outcome outcome;
  estimator_->run(outer, progress, [&](const EstimateTerms& estimate) {
    if (before_step_) before_step_(outcome.inner_steps, estimate);
    ++outcome.inner_steps;
    outcome.is_finite = update_rule_->step(estimate, learning_rate);
    if (after_step_ && outcome.is_finite) after_step_();
    return outcome.is_finite;
  });
  return outcome;
}

NamedTensors Method::state() const {
  NamedTensors state = estimator_->state();
  for (auto& entry : update_rule_->state()) state.push_back(std::move(entry));
  return state;
}

}  // namespace batchplus
