#pragma once

#include "layers/layer.h"

namespace batchplus {

/// [N,in] to [N,out].
class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor relu(const torch::Tensor& x) override;

  std::string describe() const override;
  int64_t macs(const torch::Tensor& output) const override;
  void initialize(const Initialization& scheme) override;
};

}  // namespace batchplus
