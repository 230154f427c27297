#pragma once

#include <vector>

#include "networks/layers.h"
#include "networks/own_dense_block.h"

namespace batchplus {

/// A layer of a dense block. Basic: BN-ReLU-conv3x3(k). Bottleneck: BN-ReLU-conv1x1(4k)-BN-ReLU-conv3x3(k).
class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(int64_t in, int64_t growth, bool is_bottleneck, double dropout);
  torch::Tensor forward(const torch::Tensor& x);
  /// Whether own kernels compute the layer on x, without dropout.
  bool is_fusing(const torch::Tensor& x) const;
  /// For a block that computes its layers together.
  own::DenseLayerParts begin_batch();
  Kernels kernels() const { return conv1_->kernels(); }

 private:
  std::shared_ptr<BatchNorm> bn1_;
  std::shared_ptr<Convolution> conv1_;
  /// Null without a bottleneck.
  std::shared_ptr<BatchNorm> bn2_;
  std::shared_ptr<Convolution> conv2_;
  double dropout_;
};

/// BN-ReLU-conv1x1-average pool 2.
class Transition : public torch::nn::Module {
 public:
  Transition(int64_t in, int64_t out, double dropout);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<BatchNorm> bn1_;
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
  };

  explicit Densenet(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  torch::Tensor forward_block(const std::vector<std::shared_ptr<DenseLayer>>& block, const torch::Tensor& x);

  std::shared_ptr<Convolution> conv1_;
  std::vector<std::vector<std::shared_ptr<DenseLayer>>> blocks_;
  std::vector<std::shared_ptr<Transition>> transitions_;
  std::shared_ptr<BatchNorm> bn1_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace batchplus
