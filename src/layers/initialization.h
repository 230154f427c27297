#pragma once

#include <functional>

#include "core/torch.h"

namespace batchplus {

/// Draws the values of a parameter.
using Fill = std::function<void(torch::Tensor parameter)>;

/// What a network draws again after PyTorch's default initialisation, as its reference implementation does:
///   {.convolution = {.weight = fill::normal_fan_out}, .linear = {.bias = fill::zeros}}
/// What is not named keeps its first values; so does every kind of layer that has no field here.
struct Initialization {
  struct Parameters {
    Fill weight = nullptr;
    Fill bias = nullptr;

    /// `layer_bias` may be undefined.
    void apply(const torch::Tensor& layer_weight, const torch::Tensor& layer_bias) const;
  };

  Parameters convolution = {};
  Parameters linear = {};
};

/// In the order of module.modules(), so that the same seed gives the same weights as in PyTorch.
void initialize(torch::nn::Module& module, const Initialization& scheme);

namespace fill {

/// U(-bound, bound).
void uniform(torch::Tensor parameter, double bound);
/// N(0, sqrt(2 / fan_in)), for weights [out, ...].
void kaiming_normal_fan_in(torch::Tensor weight);
/// N(0, sqrt(2 / (kernel^2 out))), for weights [out,in,kernel,kernel].
void normal_fan_out(torch::Tensor weight);
/// N(0, deviation).
Fill normal(double deviation);
void zeros(torch::Tensor parameter);

}  // namespace fill

}  // namespace batchplus
