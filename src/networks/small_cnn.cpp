#include "networks/small_cnn.h"

#include <ATen/ATen.h>

namespace batchplus {
namespace {

torch::nn::Conv2d conv3x3(int64_t in, int64_t out, int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
}

/// The side of the last map: a pooling and two strided convolutions.
int64_t last_side(int64_t side) {
  const auto halved_up = [](int64_t s) { return (s + 1) / 2; };
  return halved_up(halved_up(side / 2));
}

}  // namespace

SmallCnn::SmallCnn(const Options& options)
    : conv1_(register_module("conv1", conv3x3(options.channels, options.width, 1))),
      bn1_(register_module("bn1", torch::nn::BatchNorm2d(options.width))),
      conv2_(register_module("conv2", conv3x3(options.width, 2 * options.width, 2))),
      bn2_(register_module("bn2", torch::nn::BatchNorm2d(2 * options.width))),
      conv3_(register_module("conv3", conv3x3(2 * options.width, 4 * options.width, 2))),
      bn3_(register_module("bn3", torch::nn::BatchNorm2d(4 * options.width))),
      dropout_(register_module("dropout", torch::nn::Dropout(options.dropout))),
      fc1_(register_module(
          "fc1", torch::nn::Linear(4 * options.width * last_side(options.side) * last_side(options.side),
                                   options.hidden))),
      fc2_(register_module("fc2", torch::nn::Linear(options.hidden, options.classes))) {}

torch::Tensor SmallCnn::forward(const torch::Tensor& images) {
  torch::Tensor x = images;                                          // [N,C,32,32]
  x = at::max_pool2d(bn1_->forward(conv1_->forward(x)).relu_(), 2);  // [N,w,16,16]
  x = bn2_->forward(conv2_->forward(x)).relu_();                     // [N,2w,8,8]
  x = bn3_->forward(conv3_->forward(x)).relu_();                     // [N,4w,4,4]
  x = dropout_->forward(x.flatten(1));
  return fc2_->forward(fc1_->forward(x).relu_());  // [N, classes]
}

}  // namespace batchplus
