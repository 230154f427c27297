#pragma once

#include <ATen/ATen.h>

#include "kernels/maps.h"

namespace batchplus {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

inline Maps maps_of(const at::Tensor& t) {
  return {t.data_ptr<float>(), t.size(0), t.size(2), t.size(3), t.size(1), t.size(1)};
}

inline Filters filters_of(const at::Tensor& w) {
  return {w.data_ptr<float>(), w.size(0), w.size(1), w.size(2), w.stride(0), w.stride(1), w.stride(3)};
}

/// The root mean square of the difference over that of `exact`, which is in double.
inline double relative_error(const at::Tensor& value, const at::Tensor& exact) {
  const double size = exact.square().mean().sqrt().item<double>();
  const double difference = (value.to(at::kDouble) - exact).square().mean().sqrt().item<double>();
  return size > 0 ? difference / size : difference;
}

}  // namespace batchplus
