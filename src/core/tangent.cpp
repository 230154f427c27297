#include "core/tangent.h"

#include <ATen/ops/zeros_like.h>

namespace batchplus::tangent {
namespace {

/// Of libtorch's nested derivatives the first.
constexpr uint64_t kLevel = 0;

}  // namespace

bool exists(const torch::Tensor& tensor) {
  return of(tensor).defined();
}

torch::Tensor value_of(const torch::Tensor& tensor) {
  return exists(tensor) ? tensor._fw_primal(kLevel) : tensor;
}

torch::Tensor of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor._fw_grad(kLevel) : tensor;
}

torch::Tensor or_zeros(const torch::Tensor& tensor) {
  return exists(tensor) ? of(tensor) : at::zeros_like(tensor);
}

torch::Tensor join(const torch::Tensor& value, const torch::Tensor& tangent) {
  if (tangent.defined()) value._set_fw_grad(tangent, kLevel, /*is_inplace_op=*/false);
  return value;
}

}  // namespace batchplus::tangent
