#include "metrics/layer_rules.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/sample_rows.h"
#include "kernels/tensors.h"
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
      {is_a<Linear>, linear_sample_gradients},
      {is_a<Convolution>, convolution_sample_gradients},
      {is_a<BatchNorm>, batch_norm_sample_gradients},
      {is_a<GroupNorm>, group_norm_sample_gradients},
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
  if (!kernels::take(rows)) return rows.flatten(1).square().sum(1, /*keepdim=*/false, torch::kFloat64);
  const torch::Tensor flat = rows.flatten(1).contiguous();
  const torch::Tensor squares = torch::empty({flat.size(0)}, torch::kFloat64);
  kernels::square_rows(flat.size(0), flat.size(1), flat.data_ptr<float>(), squares.data_ptr<double>());
  return squares;
}

torch::Tensor sum_of_rows(const torch::Tensor& rows) {
  if (!kernels::take(rows)) return rows.sum(0);
  const torch::Tensor dense = rows.contiguous();
  const torch::Tensor sums = torch::empty({dense.size(1)});
  kernels::sum_rows(dense.size(0), dense.size(1), dense.data_ptr<float>(), sums.data_ptr<float>());
  return sums;
}

SampleLayerGradients gradients_of_samples(const torch::Tensor& weights, const torch::Tensor& biases) {
  return {{sum_of_rows(weights), sum_of_rows(biases)},
          squared_row_norms(weights) + squared_row_norms(biases)};
}

}  // namespace batchplus
