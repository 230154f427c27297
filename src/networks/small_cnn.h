#pragma once

#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/make_normalization.h"

namespace batchplus {

/// A small convolutional network with everything that makes replaying a gradient hard: BatchNorm and dropout.
/// conv3x3(32)/2-BN-ReLU, conv3x3(64)/2-BN-ReLU, conv3x3(128)/2-BN-ReLU, dropout, Linear 128, ReLU,
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
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit SmallCnn(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Convolution> conv1_;
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Convolution> conv2_;
  std::shared_ptr<NormalizationLayer> bn2_;
  std::shared_ptr<Convolution> conv3_;
  std::shared_ptr<NormalizationLayer> bn3_;
  double dropout_;
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
};

}  // namespace batchplus
