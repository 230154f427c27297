#include "layers/ops.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include "kernels/sample_share.h"

namespace batchplus::ops {

torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training) {
  if (p == 0 || !is_training) return x;
  // Not at::dropout: from libtorch 1.13 to 2.6 the order changed in which it draws the masks of maps that lie
  // with their channels side by side. With several processes the masks of all samples of the batch are drawn,
  // and these samples have theirs.
  const kernels::SampleShare* share = kernels::SampleShare::current();
  std::vector<int64_t> sizes = x.sizes().vec();
  if (share != nullptr) sizes[0] = share->whole();
  torch::Tensor mask = at::empty(sizes, x.options().memory_format(c10::MemoryFormat::Contiguous));
  mask.bernoulli_(1 - p).div_(1 - p);
  if (share != nullptr) mask = mask.slice(0, share->begin(sizes[0]), share->end(sizes[0]));
  return x * mask;
}

torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels) {
  const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
  return at::constant_pad_nd(half, {0, 0, 0, 0, channels, channels});
}

}  // namespace batchplus::ops
