#include "methods/adam.h"

#include <ATen/ATen.h>

namespace batchplus {

AdamRule::AdamRule(FlatParameters& parameters, Decay decay, const UpdateOptions& options)
    : parameters_(parameters),
      decay_(decay),
      options_(options),
      moments_{torch::zeros_like(parameters.values()), torch::zeros_like(parameters.values())},
      steps_(torch::zeros({1}, torch::kInt64)) {}

bool AdamRule::step(const EstimateTerms& estimate, double learning_rate) {
  int64_t& steps = *steps_.data_ptr<int64_t>();
  ++steps;
  return kernels::adam_update(parameters_.values(), moments_, estimate,
                              {.learning_rate = learning_rate,
                               .beta1 = options_.beta1,
                               .beta2 = options_.beta2,
                               .epsilon = options_.epsilon,
                               .weight_decay = options_.weight_decay,
                               .is_decoupled = decay_ == Decay::kOfWeights,
                               .step = steps});
}

NamedTensors AdamRule::state() const {
  return {{"first_moment", moments_.first}, {"second_moment", moments_.second}, {"steps", steps_}};
}

}  // namespace batchplus
