#pragma once

#include <vector>

#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/make_normalization.h"

namespace batchplus {

/// VGG with BatchNorm (reference: torchvision's vgg11_bn and vgg19_bn, the fully connected layers cut to
/// 512): 3x3 convolutions with bias, BN, ReLU; five max pools; Linear 512, ReLU, [dropout], Linear 512, ReLU,
/// [dropout], Linear C. Convolutions N(0, sqrt(2/(9 out))), linear layers N(0, 0.01), biases 0.
class Vgg : public torch::nn::Module {
 public:
  struct Options {
    /// 11 or 19.
    int64_t depth = 11;
    int64_t channels = 3;
    int64_t classes = 10;
    /// Channels of the first convolution; the others grow with it.
    int64_t width = 64;
    double dropout = 0;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit Vgg(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  /// Convolutions with their normalisation up to a max pool.
  struct Stage {
    std::vector<std::shared_ptr<Convolution>> convolutions;
    std::vector<std::shared_ptr<NormalizationLayer>> norms;
  };

  std::vector<Stage> stages_;
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  std::shared_ptr<Linear> fc3_;
  double dropout_;
};

}  // namespace batchplus
