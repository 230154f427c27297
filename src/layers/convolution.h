#pragma once

#include <memory>

#include "layers/layer.h"

namespace batchplus {

/// [N,in,H,W] to [N,out,H',W'], a square kernel.
class Convolution : public Layer {
 public:
  struct Options {
    int64_t in = 0;
    int64_t out = 0;
    int64_t kernel = 3;
    int64_t stride = 1;
    int64_t padding = 0;
    bool has_bias = true;
  };

  explicit Convolution(const Options& options);
  torch::Tensor forward(const torch::Tensor& x) override;
  /// The mean of forward(x) over windows of `side` x `side`. Part of the layer because means over pixels and
  /// sums over channels commute: averaging first leaves a 1x1 convolution a part of its work.
  torch::Tensor average_pooled(const torch::Tensor& x, int64_t side);

  std::string describe() const override;
  int64_t macs(const torch::Tensor& output) const override;
  void initialize(const Initialization& scheme) override;
  const Options& options() const { return options_; }

 private:
  Options options_;
};

std::shared_ptr<Convolution> make_convolution(const Convolution::Options& options);

}  // namespace batchplus
