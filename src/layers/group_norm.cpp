#include "layers/group_norm.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/group_norm.h>

#include <algorithm>

namespace batchplus {

int64_t GroupNorm::groups_for(int64_t channels) {
  constexpr int64_t kMost = 32;
  constexpr int64_t kLeastChannels = 4;
  int64_t groups = std::clamp<int64_t>(channels / kLeastChannels, 1, kMost);
  while (channels % groups != 0) --groups;
  return groups;
}

GroupNorm::GroupNorm(int64_t channels) : groups_(groups_for(channels)) {
  register_unit(channels);
}

torch::Tensor GroupNorm::forward(const torch::Tensor& x) {
  torch::Tensor y;
  if (has_tangent(x) || has_tangent(weight_)) {
    // libtorch 1.13 cannot differentiate its group norm's backward pass forwards; this it can.
    const auto along_channels = [](const torch::Tensor& c) { return c.view({1, -1, 1, 1}); };
    y = at::addcmul(along_channels(bias_), normalize(x).groups.reshape(x.sizes()), along_channels(weight_));
  } else {
    y = at::group_norm(x, groups_, weight_, bias_, kEpsilon);
  }
  observed(x, y);
  return y;
}

torch::Tensor GroupNorm::grouped(const torch::Tensor& x) const {
  return x.view({x.size(0), groups_, x.size(1) / groups_, x.size(2), x.size(3)});
}

torch::Tensor GroupNorm::group_means(const torch::Tensor& groups) {
  return groups.mean({2, 3, 4}, /*keepdim=*/true);
}

GroupNorm::Normalized GroupNorm::normalize(const torch::Tensor& x) const {
  const torch::Tensor groups = grouped(x);
  const torch::Tensor centred = groups - group_means(groups);
  const torch::Tensor inverse_deviation = (group_means(centred.square()) + kEpsilon).rsqrt();
  return {centred * inverse_deviation, inverse_deviation};
}

std::string GroupNorm::describe() const {
  return "group norm";
}

}  // namespace batchplus
