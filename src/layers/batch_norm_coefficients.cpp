#include "layers/batch_norm_coefficients.h"

#include <ATen/ops/empty.h>

#include <cmath>

#include "kernels/tensors.h"

namespace batchplus {

using torch::Tensor;

BatchNormCoefficients::BatchNormCoefficients(const Tensor& mean, const Tensor& variance,
                                             const BatchNormParts& parts)
    : rows_(at::empty({4, mean.numel()}, mean.options())) {
  const int64_t channels = mean.numel();
  float* to = rows_.data_ptr<float>();
  const float* m = mean.data_ptr<float>();
  const float* v = variance.data_ptr<float>();
  const float* weight = parts.weight.data_ptr<float>();
  const float* bias = parts.bias.data_ptr<float>();
  for (int64_t c = 0; c < channels; ++c) {
    const double inverse = 1 / std::sqrt(static_cast<double>(v[c]) + parts.epsilon);
    const double scale = static_cast<double>(weight[c]) * inverse;
    to[c] = m[c];
    to[channels + c] = static_cast<float>(inverse);
    to[2 * channels + c] = static_cast<float>(scale);
    to[3 * channels + c] =
        static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(m[c]) * scale);
  }
}

kernels::ScaleShift BatchNormCoefficients::scale_shift(const Tensor& addend, bool is_relu) const {
  return {.scale = scale(),
          .shift = shift(),
          .addend = addend.defined() ? kernels::maps_of(addend) : kernels::Maps{},
          .is_relu = is_relu};
}

void move_running(const BatchNormParts& parts, const Tensor& mean, const Tensor& variance, int64_t pixels) {
  const auto move = [&](const Tensor& running, const Tensor& value, double factor) {
    float* to = running.data_ptr<float>();
    const float* from = value.data_ptr<float>();
    for (int64_t c = 0; c < running.numel(); ++c) {
      to[c] = static_cast<float>((1 - parts.momentum) * static_cast<double>(to[c]) +
                                 parts.momentum * factor * static_cast<double>(from[c]));
    }
  };
  const auto count = static_cast<double>(pixels);
  move(parts.running_mean, mean, 1);
  move(parts.running_var, variance, count / (count - 1));
}

}  // namespace batchplus
