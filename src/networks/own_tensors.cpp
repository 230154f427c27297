#include "networks/own_tensors.h"

#include <ATen/ATen.h>

#include <cmath>

#include "util/error.h"

namespace batchplus::own {

using torch::Tensor;

void refuse_second_derivative() {
  if (!torch::GradMode::is_enabled()) return;
  throw Error("own kernels have first derivatives only",
              {"backward with create_graph", "training mode", "use_kernels(module, Kernels::kAten)"});
}

Maps maps_of(const Tensor& t) {
  return maps_of(t, 0, t.size(1));
}

Maps maps_of(const Tensor& t, int64_t begin, int64_t end) {
  return {t.data_ptr<float>() + begin, t.size(0), t.size(2), t.size(3), end - begin, t.size(1)};
}

Tensor make_maps(const Tensor& like, int64_t channels, int64_t height, int64_t width) {
  return at::empty({like.size(0), channels, height, width}, like.options().memory_format(kChannelsLast));
}

Filters filters_of(const Tensor& w) {
  // Side by side in a row; a filter of 1x1 has no neighbours.
  return {w.data_ptr<float>(), w.size(0), w.size(1), w.size(2), w.stride(0), w.stride(1), w.stride(3)};
}

float* data_of(const Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}

Coefficients::Coefficients(const Tensor& mean, const Tensor& variance, const BatchNormParts& parts)
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

}  // namespace batchplus::own
