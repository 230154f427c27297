#include "kernels/tensors.h"

#include <ATen/ops/empty.h>

namespace batchplus::kernels {

bool take(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat;
}

Maps maps_of(const at::Tensor& t) {
  return maps_of(t, 0, t.size(1));
}

Maps maps_of(const at::Tensor& t, int64_t begin, int64_t end) {
  return {t.data_ptr<float>() + begin, t.size(0), t.size(2), t.size(3), end - begin, t.size(1)};
}

at::Tensor make_maps(const at::Tensor& like, int64_t channels, int64_t height, int64_t width) {
  return at::empty({like.size(0), channels, height, width}, like.options().memory_format(kChannelsLast));
}

Filters filters_of(const at::Tensor& w) {
  // Side by side in a row; a filter of 1x1 has no neighbours.
  return {w.data_ptr<float>(), w.size(0), w.size(1), w.size(2), w.stride(0), w.stride(1), w.stride(3)};
}

float* data_of(const at::Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}

}  // namespace batchplus::kernels
