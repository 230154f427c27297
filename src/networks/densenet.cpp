#include "networks/densenet.h"

#include <fmt/format.h>

#include "layers/initialization.h"
#include "layers/ops.h"
#include "layers/pooling.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kBlocks = 3;

std::shared_ptr<Convolution> convolution(int64_t in, int64_t out, int64_t kernel,
                                         NormalizationKind normalization) {
  return make_convolution({.in = in,
                           .out = out,
                           .kernel = kernel,
                           .padding = kernel / 2,
                           .has_bias = has_convolution_bias(normalization)});
}

int64_t layers_per_block(const Densenet::Options& options) {
  const int64_t step = options.is_bottleneck ? 2 * kBlocks : kBlocks;
  const int64_t n = (options.depth - 4) / step;
  if (n >= 1 && options.depth == step * n + 4) return n;
  throw Error("densenet has no such depth",
              {"model", fmt::format("depth={}", options.depth), fmt::format("{}n + 4", step)});
}

}  // namespace

Transition::Transition(int64_t in, int64_t out, double dropout, NormalizationKind normalization)
    : bn1_(register_module("bn1", make_normalization(normalization, in))),
      conv1_(register_module("conv1", convolution(in, out, 1, normalization))),
      dropout_(dropout) {}

torch::Tensor Transition::forward(const torch::Tensor& x) {
  const torch::Tensor y = bn1_->relu(x);
  if (dropout_ == 0) return conv1_->average_pooled(y, 2);
  return ops::average_pool(ops::dropout(conv1_->forward(y), dropout_, is_training()), 2, conv1_->kernels());
}

Densenet::Densenet(const Options& options) {
  const int64_t n = layers_per_block(options);
  int64_t channels = 2 * options.growth;
  conv1_ = register_module("conv1", convolution(options.channels, channels, 3, options.normalization));
  for (int64_t b = 0; b < kBlocks; ++b) {
    blocks_.push_back(register_module(
        fmt::format("block{}", b + 1),
        std::make_shared<DenseBlock>(DenseBlock::Options{.in = channels,
                                                         .layers = n,
                                                         .growth = options.growth,
                                                         .is_bottleneck = options.is_bottleneck,
                                                         .dropout = options.dropout,
                                                         .normalization = options.normalization})));
    channels += n * options.growth;
    if (b + 1 == kBlocks) break;
    const auto kept = static_cast<int64_t>(static_cast<double>(channels) * options.reduction);
    transitions_.push_back(register_module(
        fmt::format("trans{}", b + 1),
        std::make_shared<Transition>(channels, kept, options.dropout, options.normalization)));
    channels = kept;
  }
  bn1_ = register_module("bn1", make_normalization(options.normalization, channels));
  fc_ = register_module("fc", std::make_shared<Linear>(channels, options.classes));
  initialize(*this, {.convolution = {.weight = fill::normal_fan_out}, .linear = {.bias = fill::zeros}});
}

torch::Tensor Densenet::forward(const torch::Tensor& images) {
  torch::Tensor x = conv1_->forward(images);  // [N,2k,32,32]
  for (size_t b = 0; b < blocks_.size(); ++b) {
    x = blocks_[b]->forward(x);
    if (b < transitions_.size()) x = transitions_[b]->forward(x);
  }
  return fc_->forward(ops::global_average_pool(bn1_->relu(x), fc_->kernels()));  // [N, classes]
}

}  // namespace batchplus
