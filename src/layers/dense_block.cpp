#include "layers/dense_block.h"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "layers/batch_norm.h"
#include "layers/convolution.h"
#include "layers/dense_block_function.h"
#include "layers/fixed_dense_block.h"
#include "layers/ops.h"

namespace batchplus {

class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(const DenseBlock::Options& block, int64_t in) : dropout_(block.dropout) {
    const auto convolution = [&](int64_t from, int64_t to, int64_t kernel) {
      return make_convolution({.in = from,
                               .out = to,
                               .kernel = kernel,
                               .padding = kernel / 2,
                               .has_bias = has_convolution_bias(block.normalization)});
    };
    const int64_t between = block.is_bottleneck ? 4 * block.growth : block.growth;
    bn1_ = register_module("bn1", make_normalization(block.normalization, in));
    conv1_ = register_module("conv1", convolution(in, between, block.is_bottleneck ? 1 : 3));
    if (!block.is_bottleneck) return;
    bn2_ = register_module("bn2", make_normalization(block.normalization, between));
    conv2_ = register_module("conv2", convolution(between, block.growth, 3));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = ops::dropout(conv1_->forward(bn1_->relu(x)), dropout_, is_training());
    if (bn2_) y = ops::dropout(conv2_->forward(bn2_->relu(y)), dropout_, is_training());
    return y;
  }

  /// Whether own kernels compute the layer on x: by BatchNorm, without dropout. In evaluation mode they have
  /// no derivatives with respect to parameters.
  bool is_fusing(const torch::Tensor& x) const {
    const auto* norm = dynamic_cast<const BatchNorm*>(bn1_.get());
    return norm != nullptr && norm->is_fusing(x) && conv1_->uses_own_kernels(x) && !tangent::exists(x) &&
           (is_training() ? dropout_ == 0 : !needs_parameter_gradients());
  }

  /// For a block that computes its layers together, where is_fusing.
  DenseLayerParts begin_batch() {
    const auto stage = [](NormalizationLayer& norm, const Convolution& convolution) {
      return DenseLayerParts::Stage{dynamic_cast<BatchNorm&>(norm).begin_batch(), convolution.weight(), &norm,
                                    &convolution};
    };
    DenseLayerParts parts;
    parts.stages.reserve(2);
    parts.stages.push_back(stage(*bn1_, *conv1_));
    if (bn2_) parts.stages.push_back(stage(*bn2_, *conv2_));
    return parts;
  }

  Kernels kernels() const { return conv1_->kernels(); }

 private:
  bool needs_parameter_gradients() const {
    const auto all = parameters();
    return torch::GradMode::is_enabled() &&
           std::any_of(all.begin(), all.end(), [](const torch::Tensor& p) { return p.requires_grad(); });
  }

  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Convolution> conv1_;
  /// Null without a bottleneck.
  std::shared_ptr<NormalizationLayer> bn2_;
  std::shared_ptr<Convolution> conv2_;
  double dropout_;
};

DenseBlock::DenseBlock(const Options& options) {
  auto layers = register_module("layer", std::make_shared<torch::nn::Module>());
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(layers->register_module(
        std::to_string(i), std::make_shared<DenseLayer>(options, options.in + i * options.growth)));
  }
}

torch::Tensor DenseBlock::forward(const torch::Tensor& x) {
  const auto is_fusing = [&](const auto& layer) { return layer->is_fusing(x); };
  if (std::all_of(layers_.begin(), layers_.end(), is_fusing)) {
    std::vector<DenseLayerParts> parts;
    for (const auto& layer : layers_) parts.push_back(layer->begin_batch());
    const bool may_use_winograd = layers_.front()->kernels() == Kernels::kFast;
    return is_training() ? dense_block(x, parts, may_use_winograd)
                         : fixed_dense_block(x, parts, may_use_winograd);
  }
  torch::Tensor maps = x;
  for (const auto& layer : layers_) maps = at::cat({maps, layer->forward(maps)}, 1);
  return maps;
}

}  // namespace batchplus
