#pragma once

#include "metrics/layer_pass.h"

namespace batchplus {

/// Gradients of sum_i f_i with respect to a layer's parameters; the bias is undefined where there is none.
struct LayerGradients {
  torch::Tensor weight;
  torch::Tensor bias;
};

struct SampleLayerGradients {
  LayerGradients sum;
  /// ||grad f_i||^2 over the layer's parameters: [N], float64.
  torch::Tensor squared_norms;
};

/// What is computed from a layer's input and output gradient, for each kind of layer.
struct LayerRule {
  /// Whether a layer is of the rule's kind.
  bool (*applies_to)(const Layer& layer);
  /// The summed gradients, and the norm of each sample's.
  SampleLayerGradients (*sample_gradients)(const LayerPass& pass);
};

/// The table of rules.
const std::vector<LayerRule>& layer_rules();
/// The row for a layer; a std::logic_error that names its kind where there is none.
const LayerRule& rule_for(const Layer& layer);

// The rules, a file for each kind.
SampleLayerGradients linear_sample_gradients(const LayerPass& pass);
SampleLayerGradients convolution_sample_gradients(const LayerPass& pass);
SampleLayerGradients batch_norm_sample_gradients(const LayerPass& pass);
SampleLayerGradients group_norm_sample_gradients(const LayerPass& pass);

/// The sum of squares in each row: [N], float64.
torch::Tensor squared_row_norms(const torch::Tensor& rows);
/// The sum over the rows of [N,C]: [C].
torch::Tensor sum_of_rows(const torch::Tensor& rows);
/// Of a layer whose parameters are weight and bias by channels, from each sample's gradients: [N,C].
SampleLayerGradients gradients_of_samples(const torch::Tensor& weights, const torch::Tensor& biases);

}  // namespace batchplus
