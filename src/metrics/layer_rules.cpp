#include "metrics/layer_rules.h"

#include <fmt/format.h>

#include <stdexcept>

#include "layers/batch_norm.h"
#include "layers/convolution.h"
#include "layers/group_norm.h"
#include "layers/linear.h"

namespace batchplus {
namespace {

template <class Kind>
bool is_a(const Layer& layer) {
  return dynamic_cast<const Kind*>(&layer) != nullptr;
}

}  // namespace

const std::vector<LayerRule>& layer_rules() {
  static const std::vector<LayerRule> rules = {
      {is_a<Linear>, linear_sample_gradients, linear_gradient_tangent},
      {is_a<Convolution>, convolution_sample_gradients, convolution_gradient_tangent},
      {is_a<BatchNorm>, batch_norm_sample_gradients, batch_norm_gradient_tangent},
      {is_a<GroupNorm>, group_norm_sample_gradients, group_norm_gradient_tangent},
  };
  return rules;
}

const LayerRule& rule_for(const Layer& layer) {
  for (const LayerRule& rule : layer_rules()) {
    if (rule.applies_to(layer)) return rule;
  }
  throw std::logic_error(
      fmt::format("no rule for sample gradients of the layer kind '{}': add a row to metrics/layer_rules.cpp",
                  layer.describe()));
}

torch::Tensor squared_row_norms(const torch::Tensor& rows) {
  return rows.flatten(1).square().sum(1, /*keepdim=*/false, torch::kFloat64);
}

}  // namespace batchplus
