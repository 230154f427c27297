#include "methods/update_rule.h"

#include "methods/adam.h"
#include "methods/momentum.h"
#include "util/table.h"

namespace batchplus {
namespace {

template <kernels::UpdateKind kKind>
std::unique_ptr<UpdateRule> momentum(FlatParameters& parameters, const UpdateOptions& options) {
  return std::make_unique<MomentumRule>(parameters, kKind, options);
}

template <AdamRule::Decay kDecay>
std::unique_ptr<UpdateRule> adam(FlatParameters& parameters, const UpdateOptions& options) {
  return std::make_unique<AdamRule>(parameters, kDecay, options);
}

}  // namespace

bool UpdateRuleInfo::is_plain(const UpdateOptions& options) const {
  return vectors == 0 || (!has_moments && options.momentum == 0);
}

const std::vector<UpdateRuleInfo>& update_rules() {
  using kernels::UpdateKind;
  static const std::vector<UpdateRuleInfo> table = {
      {.name = "plain", .equation = "w -= lr v", .make = momentum<UpdateKind::kPlain>},
      {.name = "heavy-ball",
       .equation = "m = 0.9 m + v; w -= lr m",
       .vectors = 1,
       .has_momentum = true,
       .make = momentum<UpdateKind::kHeavyBall>},
      {.name = "nesterov",
       .equation = "m = 0.9 m + v; w -= lr (v + 0.9 m)",
       .vectors = 1,
       .has_momentum = true,
       .make = momentum<UpdateKind::kNesterov>},
      {.name = "adam",
       .equation = "m, s = means of v, v^2; w -= lr m / (sqrt(s) + eps)",
       .vectors = 2,
       .has_moments = true,
       .make = adam<AdamRule::Decay::kInGradient>},
      {.name = "adamw",
       .equation = "as adam, and w -= lr decay w",
       .vectors = 2,
       .has_moments = true,
       .make = adam<AdamRule::Decay::kOfWeights>},
  };
  return table;
}

const UpdateRuleInfo& find_update_rule(std::string_view name, std::string_view where) {
  return find_row(update_rules(), name, "update rule", where);
}

}  // namespace batchplus
