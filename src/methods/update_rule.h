#pragma once

#include <string>

#include "core/flat_parameters.h"
#include "core/named_tensors.h"
#include "kernels/vector_kernels.h"

namespace batchplus {

using kernels::EstimateTerms;
using kernels::UpdateKind;

/// Moves w by a gradient estimate, with L2 regularisation added to it at w:
///   plain       w -= lr v
///   heavy-ball  m = momentum m + v;  w -= lr m
///   nesterov    m = momentum m + v;  w -= lr (v + momentum m)
class UpdateRule {
 public:
  struct Options {
    UpdateKind kind = UpdateKind::kPlain;
    double momentum = 0;
    double weight_decay = 0;
  };

  UpdateRule(FlatParameters& parameters, Options options);

  /// Returns whether w is still finite.
  [[nodiscard]] bool step(const EstimateTerms& estimate, double learning_rate);

  /// m, unless the rule is plain.
  NamedTensors state() const;

 private:
  FlatParameters& parameters_;
  Options options_;
  torch::Tensor momentum_;
};

/// plain, heavy-ball or nesterov.
UpdateKind parse_update_kind(const std::string& text, const std::string& where);
std::string to_string(UpdateKind kind);

}  // namespace batchplus
