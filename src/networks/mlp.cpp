#include "networks/mlp.h"

#include <ATen/ATen.h>

namespace batchplus {

Mlp::Mlp(const Options& options)
    : fc1_(register_module("fc1", torch::nn::Linear(options.inputs, options.hidden))),
      fc2_(register_module("fc2", torch::nn::Linear(options.hidden, options.hidden))),
      fc3_(register_module("fc3", torch::nn::Linear(options.hidden, options.classes))) {}

torch::Tensor Mlp::forward(const torch::Tensor& images) {
  torch::Tensor x = images.flatten(1);  // [N, C*H*W]
  x = fc1_->forward(x).relu_();
  x = fc2_->forward(x).relu_();
  return fc3_->forward(x);  // [N, classes]
}

}  // namespace batchplus
