#pragma once

#include <cstdint>

namespace batchplus::kernels {

/// A linear layer on a batch, everything row-major: x: [samples, in], weight: [out, in], y: [samples, out].
struct LinearShape {
  int64_t samples = 0;
  int64_t in = 0;
  int64_t out = 0;
};

/// y = x weight^T + bias, and max(0, .) with is_relu. `bias` may be null.
void linear_forward(const LinearShape& shape, const float* x, const float* weight, const float* bias,
                    bool is_relu, float* y);

/// The gradients from that of y, which counts only where `y` > 0 (null: everywhere). A gradient that is null
/// is not wanted.
struct LinearBackward {
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* y_gradient = nullptr;
  const float* y = nullptr;
  float* x_gradient = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};
void linear_backward(const LinearShape& shape, const LinearBackward& pass);

}  // namespace batchplus::kernels
