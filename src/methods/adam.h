#pragma once

#include "kernels/adam.h"
#include "methods/update_rule.h"

namespace batchplus {

/// Steps scaled by the running moments of the estimates v (Kingma and Ba 2015), as torch.optim has them:
///   m = beta1 m + (1 - beta1) v;  s = beta2 s + (1 - beta2) v^2
///   w -= lr / (1 - beta1^t) m / (sqrt(s / (1 - beta2^t)) + epsilon)
/// t counts all steps from 1. Regularisation is added to v (adam), or taken off the weights before the step,
/// w -= lr decay w (adamw; Loshchilov and Hutter 2019).
class AdamRule : public UpdateRule {
 public:
  enum class Decay { kInGradient, kOfWeights };

  AdamRule(FlatParameters& parameters, Decay decay, const UpdateOptions& options);
  [[nodiscard]] bool step(const EstimateTerms& estimate, double learning_rate) override;
  /// m, s and t.
  NamedTensors state() const override;

 private:
  FlatParameters& parameters_;
  Decay decay_;
  UpdateOptions options_;
  kernels::Moments moments_;
  /// Steps so far: [1], int64, where a checkpoint puts it back.
  torch::Tensor steps_;
};

}  // namespace batchplus
