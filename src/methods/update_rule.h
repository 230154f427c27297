#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/flat_parameters.h"
#include "core/named_tensors.h"
#include "kernels/vector_kernels.h"

namespace batchplus {

using kernels::EstimateTerms;

/// Moves w by gradient estimates, one inner step at a time.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// Returns whether w is still finite.
  [[nodiscard]] virtual bool step(const EstimateTerms& estimate, double learning_rate) = 0;

  /// The tensors that carry something from one step to the next, defined since construction.
  virtual NamedTensors state() const { return {}; }
};

/// What a rule may need; each takes what concerns it.
struct UpdateOptions {
  /// A name of the table.
  std::string rule = "plain";
  double momentum = 0;
  double weight_decay = 0;
  /// How much of the running means of the gradient and of its square stays at a step of Adam.
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// Added to the root of the latter.
  double epsilon = 1e-8;
};

/// A row of the table of update rules.
struct UpdateRuleInfo {
  std::string name;
  std::string equation;
  /// Vectors of all parameters that it keeps.
  int64_t vectors = 0;
  /// Whether `momentum` concerns it.
  bool has_momentum = false;
  /// Whether beta1, beta2 and epsilon concern it.
  bool has_moments = false;
  std::unique_ptr<UpdateRule> (*make)(FlatParameters& parameters, const UpdateOptions& options);

  /// Whether its steps are w -= lr v.
  bool is_plain(const UpdateOptions& options) const;
};

const std::vector<UpdateRuleInfo>& update_rules();

/// The row with that name, or an Error that names `where` and suggests the nearest one.
const UpdateRuleInfo& find_update_rule(std::string_view name, std::string_view where);

}  // namespace batchplus
