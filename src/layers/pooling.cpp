#include "layers/pooling.h"

#include <ATen/ATen.h>

#include "kernels/pooling.h"
#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::kChannelsLast;
using kernels::maps_of;

/// Windows of at most 16 x 16: the largest of each. It has libtorch's bits and its second derivatives.
/// `places` gets the pixels they came from, or has them already from other maps: the function is then linear.
class MaxPoolFunction : public Function<MaxPoolFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& places, int64_t side,
                        bool has_places) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor y = kernels::make_maps(x, x.size(1), x.size(2) / side, x.size(3) / side);
    const auto pool = has_places ? kernels::max_pool_tangent : kernels::max_pool_forward;
    pool(maps_of(input), side, maps_of(y), places.data_ptr<uint8_t>());
    context->save_for_backward({places});
    context->saved_data["shape"] = std::vector<int64_t>{x.size(2), x.size(3), side};
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::vector<int64_t> shape = context->saved_data["shape"].toIntVector();
    const Tensor places = context->get_saved_variables()[0];
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    if (torch::GradMode::is_enabled()) {
      return {differentiable_gradient(g, places, shape), Tensor(), Tensor(), Tensor()};
    }
    const Tensor dx = kernels::make_maps(g, g.size(1), shape[0], shape[1]);
    kernels::max_pool_backward(maps_of(g), shape[2], places.data_ptr<uint8_t>(), maps_of(dx));
    return {dx, Tensor(), Tensor(), Tensor()};
  }

 private:
  /// The same by libtorch, which can differentiate it.
  static Tensor differentiable_gradient(const Tensor& g, const Tensor& places,
                                        const std::vector<int64_t>& shape) {
    const int64_t side = shape[2];
    const Tensor place =
        places.view({g.size(0), g.size(2), g.size(3), g.size(1)}).permute({0, 3, 1, 2}).to(torch::kInt64);
    const Tensor row = at::arange(g.size(2), place.options()).view({-1, 1}) * side + place.div(side, "floor");
    const Tensor column = at::arange(g.size(3), place.options()) * side + place.remainder(side);
    const Tensor like = at::empty({g.size(0), g.size(1), shape[0], shape[1]}, g.options());
    return at::max_pool2d_with_indices_backward(
        g, like, side, {}, 0, 1, /*ceil_mode=*/false,
        (row * shape[1] + column).contiguous(g.suggest_memory_format()));
  }
};

class AveragePoolFunction : public Function<AveragePoolFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, int64_t side) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor y = kernels::make_maps(x, x.size(1), x.size(2) / side, x.size(3) / side);
    kernels::average_pool_forward(maps_of(input), side, maps_of(y));
    context->saved_data["shape"] = std::vector<int64_t>{x.size(2), x.size(3), side};
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::vector<int64_t> shape = context->saved_data["shape"].toIntVector();
    const int64_t side = shape[2];
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = kernels::make_maps(g, g.size(1), shape[0], shape[1]);
    if (torch::GradMode::is_enabled()) {
      // The same by libtorch, which can differentiate it.
      return {at::avg_pool2d_backward(g, dx, {side, side}, {side, side}, {0, 0}, /*ceil_mode=*/false,
                                      /*count_include_pad=*/true, c10::nullopt),
              Tensor()};
    }
    kernels::average_pool_backward(maps_of(g), side, maps_of(dx));
    return {dx, Tensor()};
  }
};

/// Whether own kernels compute on maps.
bool is_own(const Tensor& x, Kernels kernels) {
  return kernels != Kernels::kAten && kernels::are_available() && kernels::take(x) &&
         x.is_contiguous(kChannelsLast);
}

}  // namespace

namespace ops {

torch::Tensor max_pool(const torch::Tensor& x, int64_t side, Kernels kernels) {
  if (!is_own(x, kernels)) return at::max_pool2d(x, side);
  const int64_t windows = x.size(0) * x.size(1) * (x.size(2) / side) * (x.size(3) / side);
  const Tensor places = at::empty({windows}, x.options().dtype(torch::kUInt8));
  const Tensor y = MaxPoolFunction::apply(tangent::value_of(x), places, side, /*has_places=*/false);
  if (!tangent::exists(x)) return y;
  return tangent::join(y, MaxPoolFunction::apply(tangent::of(x), places, side, /*has_places=*/true));
}

torch::Tensor average_pool(const torch::Tensor& x, int64_t side, Kernels kernels) {
  if (!is_own(x, kernels)) return at::avg_pool2d(x, side);
  return tangent::linear(x, [&](const Tensor& maps) { return AveragePoolFunction::apply(maps, side); });
}

torch::Tensor global_average_pool(const torch::Tensor& x, Kernels kernels) {
  const bool is_square = x.size(2) == x.size(3);
  if (is_square && is_own(x, kernels)) return average_pool(x, x.size(2), kernels).flatten(1);
  return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
}

}  // namespace ops

}  // namespace batchplus
