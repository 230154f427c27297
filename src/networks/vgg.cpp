#include "networks/vgg.h"

#include <fmt/format.h>

#include "layers/initialization.h"
#include "layers/ops.h"
#include "layers/pooling.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// How many convolutions precede each of the five max pools.
std::vector<int64_t> stage_lengths(int64_t depth) {
  if (depth == 11) return {1, 1, 2, 2, 2};
  if (depth == 19) return {2, 2, 4, 4, 4};
  throw Error("vgg has no such depth", {"model", fmt::format("depth={}", depth), "11 or 19"});
}

}  // namespace

Vgg::Vgg(const Options& options) : dropout_(options.dropout) {
  auto features = register_module("features", std::make_shared<torch::nn::Module>());
  int64_t in = options.channels;
  int64_t out = options.width;
  int64_t index = 0;  // as in torchvision's Sequential: convolution, BN, ReLU; a pool ends the stage
  for (const int64_t length : stage_lengths(options.depth)) {
    Stage stage;
    for (int64_t i = 0; i < length; ++i, index += 3, in = out) {
      stage.convolutions.push_back(features->register_module(
          std::to_string(index), make_convolution({.in = in, .out = out, .padding = 1})));
      stage.norms.push_back(features->register_module(std::to_string(index + 1),
                                                      make_normalization(options.normalization, out)));
    }
    ++index;
    stages_.push_back(stage);
    out = std::min(2 * out, 8 * options.width);
  }
  auto classifier = register_module("classifier", std::make_shared<torch::nn::Module>());
  fc1_ = classifier->register_module("0", std::make_shared<Linear>(in, in));
  fc2_ = classifier->register_module("3", std::make_shared<Linear>(in, in));
  fc3_ = classifier->register_module("6", std::make_shared<Linear>(in, options.classes));
  initialize(*this, {.convolution = {.weight = fill::normal_fan_out, .bias = fill::zeros},
                     .linear = {.weight = fill::normal(0.01), .bias = fill::zeros}});
}

torch::Tensor Vgg::forward(const torch::Tensor& images) {
  torch::Tensor x = images;
  for (const Stage& stage : stages_) {
    for (size_t i = 0; i < stage.convolutions.size(); ++i)
      x = stage.norms[i]->relu(stage.convolutions[i]->forward(x));
    x = ops::max_pool(x, 2, stage.norms.back()->kernels());
  }
  x = ops::dropout(fc1_->relu(x.flatten(1)), dropout_, is_training());  // [N,8w]
  x = ops::dropout(fc2_->relu(x), dropout_, is_training());
  return fc3_->forward(x);  // [N, classes]
}

}  // namespace batchplus
