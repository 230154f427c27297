#pragma once

#include "methods/update_rule.h"

namespace batchplus {

/// Steps by the estimate or with momentum, with L2 regularisation added to the estimate at w:
///   plain       w -= lr v
///   heavy-ball  m = momentum m + v;  w -= lr m
///   nesterov    m = momentum m + v;  w -= lr (v + momentum m)
class MomentumRule : public UpdateRule {
 public:
  MomentumRule(FlatParameters& parameters, kernels::UpdateKind kind, const UpdateOptions& options);
  [[nodiscard]] bool step(const EstimateTerms& estimate, double learning_rate) override;
  /// m, unless the rule is plain.
  NamedTensors state() const override;

 private:
  FlatParameters& parameters_;
  kernels::UpdateKind kind_;
  UpdateOptions options_;
  torch::Tensor momentum_;
};

}  // namespace batchplus
