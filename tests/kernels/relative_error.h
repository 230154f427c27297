#pragma once

#include <ATen/ATen.h>

namespace batchplus::kernels {

/// The root mean square of the difference over that of `exact`, which is in double.
inline double relative_error(const at::Tensor& value, const at::Tensor& exact) {
  const double size = exact.square().mean().sqrt().item<double>();
  const double difference = (value.to(at::kDouble) - exact).square().mean().sqrt().item<double>();
  return size > 0 ? difference / size : difference;
}

}  // namespace batchplus::kernels
