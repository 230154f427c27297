#include "networks/densenet.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "networks/initialization.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kBlocks = 3;

std::shared_ptr<Convolution> convolution(int64_t in, int64_t out, int64_t kernel) {
  return std::make_shared<Convolution>(
      Convolution::Options{.in = in, .out = out, .kernel = kernel, .padding = kernel / 2, .has_bias = false});
}

int64_t layers_per_block(const Densenet::Options& options) {
  const int64_t step = options.is_bottleneck ? 2 * kBlocks : kBlocks;
  const int64_t n = (options.depth - 4) / step;
  if (n >= 1 && options.depth == step * n + 4) return n;
  throw Error("densenet has no such depth",
              {"--model", fmt::format("depth={}", options.depth), fmt::format("{}n + 4", step)});
}

}  // namespace

DenseLayer::DenseLayer(int64_t in, int64_t growth, bool is_bottleneck, double dropout) : dropout_(dropout) {
  bn1_ = register_module("bn1", std::make_shared<BatchNorm>(in));
  if (is_bottleneck) {
    conv1_ = register_module("conv1", convolution(in, 4 * growth, 1));
    bn2_ = register_module("bn2", std::make_shared<BatchNorm>(4 * growth));
    conv2_ = register_module("conv2", convolution(4 * growth, growth, 3));
  } else {
    conv1_ = register_module("conv1", convolution(in, growth, 3));
  }
}

torch::Tensor DenseLayer::forward(const torch::Tensor& x) {
  torch::Tensor y = ops::dropout(conv1_->forward(bn1_->relu(x)), dropout_, is_training());
  if (bn2_) y = ops::dropout(conv2_->forward(bn2_->relu(y)), dropout_, is_training());
  return y;
}

bool DenseLayer::is_fusing(const torch::Tensor& x) const {
  return bn1_->is_fusing(x) && conv1_->uses_own_kernels(x) && (dropout_ == 0 || !is_training());
}

own::DenseLayerParts DenseLayer::begin_batch() {
  own::DenseLayerParts parts{{{bn1_->begin_batch(), conv1_->weight()}}};
  if (bn2_) parts.stages.push_back({bn2_->begin_batch(), conv2_->weight()});
  return parts;
}

Transition::Transition(int64_t in, int64_t out, double dropout)
    : bn1_(register_module("bn1", std::make_shared<BatchNorm>(in))),
      conv1_(register_module("conv1", convolution(in, out, 1))),
      dropout_(dropout) {}

torch::Tensor Transition::forward(const torch::Tensor& x) {
  // Means over pixels and sums over channels commute: averaging first leaves a quarter of the convolution.
  if (conv1_->uses_own_kernels(x) && dropout_ == 0)
    return conv1_->forward(ops::average_pool(bn1_->relu(x), 2));
  return ops::average_pool(ops::dropout(conv1_->forward(bn1_->relu(x)), dropout_, is_training()), 2);
}

Densenet::Densenet(const Options& options) {
  const int64_t n = layers_per_block(options);
  int64_t channels = 2 * options.growth;
  conv1_ = register_module("conv1", convolution(options.channels, channels, 3));
  for (int64_t b = 0; b < kBlocks; ++b) {
    auto block = register_module(fmt::format("block{}", b + 1), std::make_shared<torch::nn::Module>());
    auto layers = block->register_module("layer", std::make_shared<torch::nn::Module>());
    blocks_.emplace_back();
    for (int64_t i = 0; i < n; ++i, channels += options.growth) {
      blocks_.back().push_back(layers->register_module(
          std::to_string(i),
          std::make_shared<DenseLayer>(channels, options.growth, options.is_bottleneck, options.dropout)));
    }
    if (b + 1 == kBlocks) break;
    const auto kept = static_cast<int64_t>(static_cast<double>(channels) * options.reduction);
    transitions_.push_back(register_module(fmt::format("trans{}", b + 1),
                                           std::make_shared<Transition>(channels, kept, options.dropout)));
    channels = kept;
  }
  bn1_ = register_module("bn1", std::make_shared<BatchNorm>(channels));
  fc_ = register_module("fc", std::make_shared<Linear>(channels, options.classes));
  init_normal_convolutions(*this);
}

torch::Tensor Densenet::forward_block(const std::vector<std::shared_ptr<DenseLayer>>& block,
                                      const torch::Tensor& x) {
  const auto is_fusing = [&](const auto& layer) { return layer->is_fusing(x); };
  if (std::all_of(block.begin(), block.end(), is_fusing)) {
    std::vector<own::DenseLayerParts> parts;
    for (const auto& layer : block) parts.push_back(layer->begin_batch());
    return own::dense_block(x, parts, is_training(), block.front()->kernels() == Kernels::kFast);
  }
  GrowingMaps maps(x);
  for (const auto& layer : block) maps.append(layer->forward(maps.all()));
  return maps.all();
}

torch::Tensor Densenet::forward(const torch::Tensor& images) {
  torch::Tensor x = conv1_->forward(images);  // [N,2k,32,32]
  for (size_t b = 0; b < blocks_.size(); ++b) {
    x = forward_block(blocks_[b], x);
    if (b < transitions_.size()) x = transitions_[b]->forward(x);
  }
  return fc_->forward(ops::global_average_pool(bn1_->relu(x)));  // [N, classes]
}

}  // namespace batchplus
