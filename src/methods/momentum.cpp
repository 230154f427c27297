#include "methods/momentum.h"

#include <ATen/ATen.h>

namespace batchplus {

MomentumRule::MomentumRule(FlatParameters& parameters, kernels::UpdateKind kind, const UpdateOptions& options)
    : parameters_(parameters), kind_(kind), options_(options) {
  if (kind_ != kernels::UpdateKind::kPlain) momentum_ = torch::zeros_like(parameters_.values());
}

bool MomentumRule::step(const EstimateTerms& estimate, double learning_rate) {
  return kernels::fused_update(parameters_.values(), momentum_, estimate,
                               {.kind = kind_,
                                .learning_rate = learning_rate,
                                .momentum = options_.momentum,
                                .weight_decay = options_.weight_decay});
}

NamedTensors MomentumRule::state() const {
  if (!momentum_.defined()) return {};
  return {{"momentum", momentum_}};
}

}  // namespace batchplus
