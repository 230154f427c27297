#include "layers/ops.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>

#include "kernels/sample_share.h"

namespace batchplus::ops {

torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training) {
  const kernels::SampleShare* share = kernels::SampleShare::current();
  if (p == 0 || share == nullptr || !is_training) return p > 0 ? at::dropout(x, p, is_training) : x;
  // The masks of all samples of the batch are drawn, as at::dropout draws them; these samples have theirs.
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[0] = share->whole();
  const torch::Tensor mask = at::empty(sizes, x.options().memory_format(c10::MemoryFormat::Contiguous));
  mask.bernoulli_(1 - p).div_(1 - p);
  return x * mask.slice(0, share->begin(sizes[0]), share->end(sizes[0]));
}

torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels) {
  const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
  return at::constant_pad_nd(half, {0, 0, 0, 0, channels, channels});
}

}  // namespace batchplus::ops
