#include "networks/wide_resnet.h"

#include <fmt/format.h>

#include "layers/initialization.h"
#include "layers/ops.h"
#include "layers/pooling.h"
#include "util/error.h"

namespace batchplus {
namespace {

constexpr int64_t kFirstChannels = 16;

int64_t blocks_per_stage(int64_t depth) {
  const int64_t n = (depth - 4) / 6;
  if (n >= 1 && depth == 6 * n + 4) return n;
  throw Error("wide resnet has no such depth",
              {"depth", fmt::format("depth={}", depth), "6n + 4: 10, 16, 22, 28, 40"});
}

}  // namespace

WideBlock::WideBlock(const Options& options) : dropout_(options.dropout) {
  const auto convolution = [&](int64_t in, int64_t kernel, int64_t stride) {
    return make_convolution({.in = in,
                             .out = options.out,
                             .kernel = kernel,
                             .stride = stride,
                             .padding = kernel / 2,
                             .has_bias = has_convolution_bias(options.normalization)});
  };
  bn1_ = register_module("bn1", make_normalization(options.normalization, options.in));
  conv1_ = register_module("conv1", convolution(options.in, 3, options.stride));
  bn2_ = register_module("bn2", make_normalization(options.normalization, options.out));
  conv2_ = register_module("conv2", convolution(options.out, 3, 1));
  if (options.in != options.out || options.stride != 1)
    shortcut_ = register_module("convShortcut", convolution(options.in, 1, options.stride));
}

torch::Tensor WideBlock::forward(const torch::Tensor& x) {
  const torch::Tensor active = bn1_->relu(x);
  torch::Tensor y = ops::dropout(bn2_->relu(conv1_->forward(active)), dropout_, is_training());
  y = conv2_->forward(y);
  return y + (shortcut_ ? shortcut_->forward(active) : x);
}

WideResnet::WideResnet(const Options& options) {
  const int64_t n = blocks_per_stage(options.depth);
  conv1_ =
      register_module("conv1", make_convolution({.in = options.channels,
                                                 .out = kFirstChannels,
                                                 .padding = 1,
                                                 .has_bias = has_convolution_bias(options.normalization)}));
  int64_t in = kFirstChannels;
  for (int64_t stage = 0; stage < 3; ++stage) {
    auto block = register_module(fmt::format("block{}", stage + 1), std::make_shared<torch::nn::Module>());
    auto layers = block->register_module("layer", std::make_shared<torch::nn::Module>());
    const int64_t out = (kFirstChannels * options.width) << stage;
    for (int64_t i = 0; i < n; ++i, in = out) {
      blocks_.push_back(layers->register_module(
          std::to_string(i),
          std::make_shared<WideBlock>(WideBlock::Options{.in = in,
                                                         .out = out,
                                                         .stride = stage > 0 && i == 0 ? 2 : 1,
                                                         .dropout = options.dropout,
                                                         .normalization = options.normalization})));
    }
  }
  bn1_ = register_module("bn1", make_normalization(options.normalization, in));
  fc_ = register_module("fc", std::make_shared<Linear>(in, options.classes));
  initialize(*this, {.convolution = {.weight = fill::normal_fan_out}, .linear = {.bias = fill::zeros}});
}

torch::Tensor WideResnet::forward(const torch::Tensor& images) {
  torch::Tensor x = conv1_->forward(images);  // [N,16,32,32]
  for (const auto& block : blocks_) x = block->forward(x);
  return fc_->forward(
      ops::global_average_pool(bn1_->relu(x), fc_->kernels()));  // [N,64k,8,8] to [N, classes]
}

}  // namespace batchplus
