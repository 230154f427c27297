#pragma once

#include "layers/convolution.h"
#include "layers/linear.h"

namespace batchplus {

/// AlexNet for 32x32 images (reference: bearpaw/pytorch-classification): conv11x11/4, conv5x5, three conv3x3,
/// each with ReLU; max pools after the first, second and last; one linear layer. No BatchNorm, no dropout.
/// PyTorch's default initialisation. The paper does not say which AlexNet it used; this is the usual one for
/// CIFAR.
class AlexNet : public torch::nn::Module {
 public:
  struct Options {
    int64_t channels = 3;
    int64_t classes = 10;
    /// Channels of the first convolution; the others grow with it.
    int64_t width = 64;
  };

  explicit AlexNet(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Convolution> conv1_;
  std::shared_ptr<Convolution> conv2_;
  std::shared_ptr<Convolution> conv3_;
  std::shared_ptr<Convolution> conv4_;
  std::shared_ptr<Convolution> conv5_;
  std::shared_ptr<Linear> classifier_;
};

}  // namespace batchplus
