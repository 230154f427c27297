#pragma once

#include <vector>

#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/make_normalization.h"

namespace batchplus {

/// conv3x3-BN-ReLU-conv3x3-BN, plus the shortcut, ReLU. Where the maps shrink, the shortcut takes every
/// second pixel and zero maps in front and behind (option A: no parameters).
class ResidualBlock : public torch::nn::Module {
 public:
  ResidualBlock(int64_t in, int64_t out, int64_t stride, NormalizationKind normalization);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  int64_t new_channels_;
  std::shared_ptr<Convolution> conv1_;
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Convolution> conv2_;
  std::shared_ptr<NormalizationLayer> bn2_;
};

/// The residual network for CIFAR of depth 6n+2 (reference: akamaster/pytorch_resnet_cifar10): conv3x3 16,
/// BN, ReLU; three stages of n blocks with 16, 32, 64 channels; average over the maps; Linear C. Convolutions
/// without bias; conv and linear weights kaiming normal, fan in.
class Resnet : public torch::nn::Module {
 public:
  struct Options {
    /// 20, 32, 44, 56, ...: 6n + 2.
    int64_t depth = 20;
    int64_t channels = 3;
    int64_t classes = 10;
    /// Channels of the first stage.
    int64_t width = 16;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit Resnet(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Convolution> conv1_;
  std::shared_ptr<NormalizationLayer> bn1_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
  std::shared_ptr<Linear> linear_;
};

}  // namespace batchplus
