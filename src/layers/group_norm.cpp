#include "layers/group_norm.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/group_norm.h>

#include <algorithm>

#include "kernels/group_norm.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::kChannelsLast;
using kernels::maps_of;

class GroupNormFunction : public Function<GroupNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        int64_t groups, double epsilon) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor y = at::empty_like(input);
    const Tensor mean = at::empty({x.size(0), groups}, x.options());
    const Tensor inverse_std = at::empty_like(mean);
    kernels::group_norm_forward(
        maps_of(input),
        {.groups = groups, .epsilon = epsilon, .weight = data_of(weight), .bias = data_of(bias)}, maps_of(y),
        data_of(mean), data_of(inverse_std));
    context->save_for_backward({input, weight, mean, inverse_std});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = at::empty_like(x);
    const Tensor dw = at::empty_like(weight);
    const Tensor db = at::empty_like(weight);
    kernels::group_norm_backward({.x = maps_of(x),
                                  .y_gradient = maps_of(g),
                                  .groups = saved[2].size(1),
                                  .weight = data_of(weight),
                                  .mean = data_of(saved[2]),
                                  .inverse_std = data_of(saved[3]),
                                  .x_gradient = maps_of(dx),
                                  .weight_gradient = data_of(dw),
                                  .bias_gradient = data_of(db)});
    return {dx, dw, db, Tensor(), Tensor()};
  }
};

}  // namespace

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
  if (uses_own_kernels(x) && !has_tangent(x)) {
    y = GroupNormFunction::apply(x, weight_, bias_, groups_, kEpsilon);
  } else if (has_tangent(x)) {
    // libtorch 1.13 cannot differentiate its group norm forwards on channels-last maps; this it can.
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
