#pragma once

#include "layers/normalization.h"

namespace batchplus {

/// Passes its input on. It has no parameters, and observers do not see it.
class NoNormalization : public NormalizationLayer {
 public:
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor relu(const torch::Tensor& x) override;
  torch::Tensor add_relu(const torch::Tensor& x, const torch::Tensor& shortcut) override;
  std::string describe() const override;
};

}  // namespace batchplus
