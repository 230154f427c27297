#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace batchplus {

/// A residual network of 32 layers for 3x32x32 images (16, 32 and 64 channels, five basic blocks each), of
/// libtorch's own modules: the load of a training step next to which the data pipeline is measured.
class Resnet32 : public torch::nn::Module {
 public:
  Resnet32() {
    first_ = register_module("first", convolution(3, 16, 1));
    first_norm_ = register_module("first_norm", torch::nn::BatchNorm2d(16));
    int64_t channels = 16;
    for (const int64_t width : {16, 32, 64}) {
      for (int64_t b = 0; b < 5; ++b) {
        const int64_t stride = width != channels ? 2 : 1;
        const std::string name = std::to_string(blocks_.size());
        Block block{register_module("conv1_" + name, convolution(channels, width, stride)),
                    register_module("conv2_" + name, convolution(width, width, 1)),
                    register_module("norm1_" + name, torch::nn::BatchNorm2d(width)),
                    register_module("norm2_" + name, torch::nn::BatchNorm2d(width)), stride};
        blocks_.push_back(block);
        channels = width;
      }
    }
    last_ = register_module("last", torch::nn::Linear(64, 10));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor x = at::relu(first_norm_(first_(images)));
    for (auto& block : blocks_) {
      const torch::Tensor y = block.norm2(block.conv2(at::relu(block.norm1(block.conv1(x)))));
      if (block.stride == 2) {
        const int64_t missing = y.size(1) - x.size(1);
        x = at::constant_pad_nd(x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2),
                                {0, 0, 0, 0, missing / 2, missing / 2});
      }
      x = at::relu(y + x);
    }
    return last_(x.mean({2, 3}));
  }

 private:
  struct Block {
    torch::nn::Conv2d conv1;
    torch::nn::Conv2d conv2;
    torch::nn::BatchNorm2d norm1;
    torch::nn::BatchNorm2d norm2;
    int64_t stride;
  };

  static torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t stride) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
  }

  torch::nn::Conv2d first_{nullptr};
  torch::nn::BatchNorm2d first_norm_{nullptr};
  std::vector<Block> blocks_;
  torch::nn::Linear last_{nullptr};
};

}  // namespace batchplus
