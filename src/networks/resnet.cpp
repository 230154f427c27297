#include "networks/resnet.h"

#include <fmt/format.h>

#include "layers/initialization.h"
#include "layers/ops.h"
#include "layers/pooling.h"
#include "util/error.h"

namespace batchplus {
namespace {

std::shared_ptr<Convolution> conv3x3(int64_t in, int64_t out, int64_t stride,
                                     NormalizationKind normalization) {
  return make_convolution({.in = in,
                           .out = out,
                           .stride = stride,
                           .padding = 1,
                           .has_bias = has_convolution_bias(normalization)});
}

}  // namespace

ResidualBlock::ResidualBlock(int64_t in, int64_t out, int64_t stride, NormalizationKind normalization)
    : new_channels_(out - in),
      conv1_(register_module("conv1", conv3x3(in, out, stride, normalization))),
      bn1_(register_module("bn1", make_normalization(normalization, out))),
      conv2_(register_module("conv2", conv3x3(out, out, 1, normalization))),
      bn2_(register_module("bn2", make_normalization(normalization, out))) {}

torch::Tensor ResidualBlock::forward(const torch::Tensor& x) {
  const torch::Tensor shortcut = new_channels_ == 0 ? x : ops::subsample_and_pad(x, new_channels_ / 2);
  return bn2_->add_relu(conv2_->forward(bn1_->relu(conv1_->forward(x))), shortcut);
}

Resnet::Resnet(const Options& options) {
  const int64_t n = (options.depth - 2) / 6;
  if (n < 1 || options.depth != 6 * n + 2) {
    throw Error("resnet has no such depth",
                {"model", fmt::format("depth={}", options.depth), "6n + 2: 8, 14, 20, 26, 32, 44, 56, 110"});
  }
  if (options.width % 2 != 0) {
    throw Error("resnet has no such width",
                {"model", fmt::format("width={}", options.width),
                 "an even number: a shortcut gets as many new channels before the old ones as behind them"});
  }
  conv1_ = register_module("conv1", conv3x3(options.channels, options.width, 1, options.normalization));
  bn1_ = register_module("bn1", make_normalization(options.normalization, options.width));
  int64_t in = options.width;
  for (int64_t stage = 0; stage < 3; ++stage) {
    auto layer = register_module(fmt::format("layer{}", stage + 1), std::make_shared<torch::nn::Module>());
    const int64_t out = options.width << stage;
    for (int64_t i = 0; i < n; ++i, in = out) {
      const int64_t stride = in == out ? 1 : 2;
      blocks_.push_back(layer->register_module(
          std::to_string(i), std::make_shared<ResidualBlock>(in, out, stride, options.normalization)));
    }
  }
  linear_ = register_module("linear", std::make_shared<Linear>(in, options.classes));
  initialize(*this, {.convolution = {.weight = fill::kaiming_normal_fan_in},
                     .linear = {.weight = fill::kaiming_normal_fan_in}});
}

torch::Tensor Resnet::forward(const torch::Tensor& images) {
  torch::Tensor x = bn1_->relu(conv1_->forward(images));  // [N,w,32,32]
  for (const auto& block : blocks_) x = block->forward(x);
  return linear_->forward(ops::global_average_pool(x, linear_->kernels()));  // [N,4w,8,8] to [N, classes]
}

}  // namespace batchplus
