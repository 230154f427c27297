#include "methods/update_rule.h"

#include <ATen/ATen.h>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {

UpdateRule::UpdateRule(FlatParameters& parameters, Options options)
    : parameters_(parameters), options_(options) {
  if (options_.kind != UpdateKind::kPlain) momentum_ = torch::zeros_like(parameters_.values());
}

bool UpdateRule::step(const EstimateTerms& estimate, double learning_rate) {
  return kernels::fused_update(parameters_.values(), momentum_, estimate,
                               {.kind = options_.kind,
                                .learning_rate = learning_rate,
                                .momentum = options_.momentum,
                                .weight_decay = options_.weight_decay});
}

NamedTensors UpdateRule::state() const {
  if (!momentum_.defined()) return {};
  return {{"momentum", momentum_}};
}

UpdateKind parse_update_kind(const std::string& text, const std::string& where) {
  for (const UpdateKind kind : {UpdateKind::kPlain, UpdateKind::kHeavyBall, UpdateKind::kNesterov}) {
    if (to_string(kind) == text) return kind;
  }
  throw Error("unknown update rule", {where, text, suggest_name(text, {"plain", "heavy-ball", "nesterov"})});
}

std::string to_string(UpdateKind kind) {
  switch (kind) {
    case UpdateKind::kPlain: return "plain";
    case UpdateKind::kHeavyBall: return "heavy-ball";
    case UpdateKind::kNesterov: return "nesterov";
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

}  // namespace batchplus
