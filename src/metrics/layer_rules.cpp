#include "metrics/layer_rules.h"

#include <ATen/ATen.h>

#include "util/error.h"

namespace batchplus {

const std::vector<LayerRule>& layer_rules() {
  static const std::vector<LayerRule> rules = {
      {Layer::Kind::kLinear, "linear", linear_sample_gradients, linear_gradient_tangent},
      {Layer::Kind::kConvolution, "convolution", convolution_sample_gradients, convolution_gradient_tangent},
      {Layer::Kind::kBatchNorm, "batch norm", batch_norm_sample_gradients, batch_norm_gradient_tangent},
  };
  return rules;
}

const LayerRule& rule_for(const Layer& layer) {
  for (const LayerRule& rule : layer_rules()) {
    if (rule.kind == layer.kind()) return rule;
  }
  BATCHPLUS_CHECK(false, "every kind of layer has a rule");
}

torch::Tensor squared_row_norms(const torch::Tensor& rows) {
  return rows.flatten(1).square().sum(1, /*keepdim=*/false, torch::kFloat64);
}

}  // namespace batchplus
