#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "core/torch.h"

namespace batchplus {

/// A small convolutional network with everything that makes replaying a gradient hard: BatchNorm and dropout.
/// conv3x3(32)-BN-ReLU-maxpool2, conv3x3(64)/2-BN-ReLU, conv3x3(128)/2-BN-ReLU, dropout, Linear 128, ReLU,
/// Linear C; convolutions without bias. PyTorch's default initialisation.
class SmallCnn : public torch::nn::Module {
 public:
  struct Options {
    int64_t channels = 3;
    int64_t side = 32;
    int64_t classes = 10;
    /// Channels of the first convolution; the others have two and four times as many.
    int64_t width = 32;
    int64_t hidden = 128;
    double dropout = 0.25;
  };

  explicit SmallCnn(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Conv2d conv3_;
  torch::nn::BatchNorm2d bn3_;
  torch::nn::Dropout dropout_;
  torch::nn::Linear fc1_;
  torch::nn::Linear fc2_;
};

}  // namespace batchplus
