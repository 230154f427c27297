#pragma once

#include "core/torch.h"

namespace batchplus {

// What reference implementations do after PyTorch's default initialisation, in the order of module.modules(),
// so that the same seed gives the same weights as there.

/// Convolutions and linear weights: N(0, sqrt(2 / fan_in)). Biases keep the default. (resnet)
void init_kaiming_normal_fan_in(torch::nn::Module& module);

/// Convolutions: N(0, sqrt(2 / (kernel^2 out))), bias 0; linear layers: N(0, 0.01), bias 0. (vgg)
void init_normal_fan_out(torch::nn::Module& module);

/// Convolutions: N(0, sqrt(2 / (kernel^2 out))); linear layers: bias 0, weight by default. (densenet)
void init_normal_convolutions(torch::nn::Module& module);

}  // namespace batchplus
