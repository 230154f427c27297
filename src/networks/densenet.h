#pragma once

#include <vector>

#include "layers/convolution.h"
#include "layers/dense_block.h"
#include "layers/linear.h"
#include "layers/make_normalization.h"

namespace batchplus {

/// BN-ReLU-conv1x1-average pool 2.
class Transition : public torch::nn::Module {
 public:
  Transition(int64_t in, int64_t out, double dropout, NormalizationKind normalization);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Convolution> conv1_;
  double dropout_;
};

/// The dense network for CIFAR (reference: andreasveit/densenet-pytorch): conv3x3 to 2k channels; three dense
/// blocks, each layer's k maps put behind its input's; a transition after the first two; BN, ReLU, average
/// over the maps, Linear C. Convolutions without bias, N(0, sqrt(2/(kernel^2 out))).
class Densenet : public torch::nn::Module {
 public:
  struct Options {
    /// 3n + 4 with n basic layers a block, 6n + 4 with n bottlenecks.
    int64_t depth = 40;
    /// k: maps that a layer adds.
    int64_t growth = 12;
    bool is_bottleneck = false;
    /// Share of the channels that a transition keeps.
    double reduction = 1;
    int64_t channels = 3;
    int64_t classes = 10;
    double dropout = 0;
    NormalizationKind normalization = NormalizationKind::kBatch;
  };

  explicit Densenet(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Convolution> conv1_;
  std::vector<std::shared_ptr<DenseBlock>> blocks_;
  std::vector<std::shared_ptr<Transition>> transitions_;
  std::shared_ptr<NormalizationLayer> bn1_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace batchplus
