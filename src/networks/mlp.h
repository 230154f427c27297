#pragma once

#include "layers/linear.h"

namespace batchplus {

/// Flatten, Linear 100, ReLU, Linear 100, ReLU, Linear C, with PyTorch's default initialisation.
class Mlp : public torch::nn::Module {
 public:
  struct Options {
    int64_t inputs = 3072;
    int64_t hidden = 100;
    int64_t classes = 10;
  };

  explicit Mlp(const Options& options);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
  std::shared_ptr<Linear> fc3_;
};

}  // namespace batchplus
