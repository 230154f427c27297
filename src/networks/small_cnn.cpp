#include "networks/small_cnn.h"

#include <ATen/ATen.h>

namespace batchplus {
namespace {

torch::nn::Conv2d strided_conv3x3(int64_t in, int64_t out) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(2).padding(1).bias(false));
}

/// The side of the last map: halved three times, rounded up.
int64_t last_side(int64_t side) {
  return (side + 7) / 8;
}

}  // namespace

SmallCnn::SmallCnn(const Options& options)
    : conv1_(register_module("conv1", strided_conv3x3(options.channels, options.width))),
      bn1_(register_module("bn1", torch::nn::BatchNorm2d(options.width))),
      conv2_(register_module("conv2", strided_conv3x3(options.width, 2 * options.width))),
      bn2_(register_module("bn2", torch::nn::BatchNorm2d(2 * options.width))),
      conv3_(register_module("conv3", strided_conv3x3(2 * options.width, 4 * options.width))),
      bn3_(register_module("bn3", torch::nn::BatchNorm2d(4 * options.width))),
      dropout_(register_module("dropout", torch::nn::Dropout(options.dropout))),
      fc1_(register_module(
          "fc1", torch::nn::Linear(4 * options.width * last_side(options.side) * last_side(options.side),
                                   options.hidden))),
      fc2_(register_module("fc2", torch::nn::Linear(options.hidden, options.classes))) {}

torch::Tensor SmallCnn::forward(const torch::Tensor& images) {
  torch::Tensor x = bn1_->forward(conv1_->forward(images)).relu_();  // [N,w,16,16]
  x = bn2_->forward(conv2_->forward(x)).relu_();                     // [N,2w,8,8]
  x = bn3_->forward(conv3_->forward(x)).relu_();                     // [N,4w,4,4]
  x = dropout_->forward(x.flatten(1));
  return fc2_->forward(fc1_->forward(x).relu_());  // [N, classes]
}

}  // namespace batchplus
