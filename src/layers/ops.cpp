#include "layers/ops.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/dropout.h>

namespace batchplus::ops {

torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training) {
  return p > 0 ? at::dropout(x, p, is_training) : x;
}

torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels) {
  const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
  return at::constant_pad_nd(half, {0, 0, 0, 0, channels, channels});
}

}  // namespace batchplus::ops
