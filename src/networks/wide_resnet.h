#pragma once

#include <vector>

#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/make_normalization.h"

namespace batchplus {

/// BN-ReLU-conv3x3-BN-ReLU-[dropout]-conv3x3, plus the shortcut. Where the maps change their number or size,
/// the shortcut is a 1x1 convolution of what follows the first ReLU.
class WideBlock : public torch::nn::Module {
 public:
  struct Options {
    int64_t in = 0;
    int64_t out = 0;
    int64_t stride = 1;
    double dropout = 0;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit WideBlock(const Options& options);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Convolution> conv1_;
  std::shared_ptr<NormalizationLayer> bn2_;
  std::shared_ptr<Convolution> conv2_;
  /// Null where the maps stay as they are.
  std::shared_ptr<Convolution> shortcut_;
  double dropout_;
};

/// The wide residual network of depth 6n+4 (Zagoruyko & Komodakis 2016; names and initialisation:
/// xternalz/WideResNet-pytorch): conv3x3 16; three stages of n blocks with 16k, 32k, 64k channels, the maps
/// halved before the second and third; BN, ReLU, average over the maps, Linear C. Convolutions without bias,
/// N(0, sqrt(2/(kernel^2 out))); linear bias 0.
class WideResnet : public torch::nn::Module {
 public:
  struct Options {
    /// 6n + 4: 16, 22, 28, 40, ...
    int64_t depth = 16;
    /// k: how many times wider than the first convolution the first stage is.
    int64_t width = 4;
    int64_t channels = 3;
    int64_t classes = 10;
    /// Between a block's convolutions.
    double dropout = 0;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit WideResnet(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Convolution> conv1_;
  std::vector<std::shared_ptr<WideBlock>> blocks_;
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace batchplus
