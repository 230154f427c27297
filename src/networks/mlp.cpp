#include "networks/mlp.h"

namespace batchplus {

Mlp::Mlp(const Options& options)
    : fc1_(register_module("fc1", std::make_shared<Linear>(options.inputs, options.hidden))),
      fc2_(register_module("fc2", std::make_shared<Linear>(options.hidden, options.hidden))),
      fc3_(register_module("fc3", std::make_shared<Linear>(options.hidden, options.classes))) {}

torch::Tensor Mlp::forward(const torch::Tensor& images) {
  torch::Tensor x = images.flatten(1);  // [N, C*H*W]
  x = fc1_->relu(x);
  x = fc2_->relu(x);
  return fc3_->forward(x);  // [N, classes]
}

}  // namespace batchplus
