#pragma once

#include "core/torch.h"

/// Derivatives along one direction, carried forwards by libtorch's dual tensors. libtorch cannot
/// differentiate functions on own kernels so; layers split their inputs, compute value and tangent, and put
/// them together again. Both are plain tensors that autograd differentiates once: the gradient of a tangent
/// is a product with the Hessian.
namespace batchplus::tangent {

/// Whether a forward derivative is being computed with respect to the tensor.
bool exists(const torch::Tensor& tensor);
/// Without its tangent. Undefined for an undefined tensor.
torch::Tensor value_of(const torch::Tensor& tensor);
/// Undefined where there is none, which is zero.
torch::Tensor of(const torch::Tensor& tensor);
/// As `of`, but with the zeros.
torch::Tensor or_zeros(const torch::Tensor& tensor);
/// `value` with a tangent; without if that is undefined.
torch::Tensor join(const torch::Tensor& value, const torch::Tensor& tangent);

/// f(x) of a linear f.
template <class Linear>
torch::Tensor linear(const torch::Tensor& x, const Linear& f) {
  return exists(x) ? join(f(value_of(x)), f(of(x))) : f(x);
}

/// f(x, weight, bias) = a product of x and weight, plus bias, which may be undefined:
///   f' = f(x, weight', bias') + f(x', weight, 0)
template <class Product>
torch::Tensor product(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                      const Product& f) {
  if (!exists(x) && !exists(weight)) return f(x, weight, bias);
  torch::Tensor moved;
  if (exists(weight)) moved = f(value_of(x), of(weight), of(bias));
  if (exists(x)) {
    const torch::Tensor by_input = f(of(x), value_of(weight), {});
    moved = moved.defined() ? moved + by_input : by_input;
  }
  return join(f(value_of(x), value_of(weight), value_of(bias)), moved);
}

}  // namespace batchplus::tangent
