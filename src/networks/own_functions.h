#pragma once

#include "core/torch.h"
#include "kernels/convolution.h"

/// What layers compute, by this project's own kernels (kernels/), with first derivatives. For float tensors
/// on a CPU that kernels::are_available(). Maps are [N,C,H,W] with the channels side by side in memory
/// (channels-last); others are copied into that order.
namespace batchplus::own {

torch::Tensor convolution(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                          const kernels::ConvolutionGeometry& geometry, bool may_use_winograd);

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                     bool is_relu);

/// What a BatchNorm has besides x.
struct BatchNormParts {
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor running_mean;
  torch::Tensor running_var;
  double momentum = 0;
  double epsilon = 0;
};
/// Normalises by the batch's moments and moves the running ones; adds `shortcut` if defined; max(0, .) with
/// is_relu.
torch::Tensor batch_norm(const torch::Tensor& x, const BatchNormParts& parts, const torch::Tensor& shortcut,
                         bool is_relu);
/// The same by the running moments, without derivatives.
torch::Tensor batch_norm_by_running(const torch::Tensor& x, const BatchNormParts& parts,
                                    const torch::Tensor& shortcut, bool is_relu);

/// Windows of `side` x `side` beside each other; side at most 16. It has libtorch's bits and its second
/// derivatives.
torch::Tensor max_pool(const torch::Tensor& x, int64_t side);

}  // namespace batchplus::own
