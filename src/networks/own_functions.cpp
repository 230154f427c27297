#include "networks/own_functions.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/flat_parameters.h"
#include "kernels/batch_norm.h"
#include "kernels/linear.h"
#include "kernels/pooling.h"
#include "networks/own_tensors.h"

namespace batchplus::own {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// How a Function takes a tensor that may be undefined.
using MaybeTensor = c10::optional<Tensor>;

MaybeTensor maybe(const Tensor& t) {
  return t.defined() ? MaybeTensor(t) : MaybeTensor();
}

class ConvolutionFunction : public Function<ConvolutionFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const MaybeTensor& bias, int64_t stride, int64_t padding, int64_t algorithm) {
    const ConvolutionGeometry geometry{weight.size(2), stride, padding};
    const Tensor input = x.contiguous(kChannelsLast);
    const auto extent = [&](int64_t size) { return (size + 2 * padding - geometry.kernel) / stride + 1; };
    const Tensor y = make_maps(x, weight.size(0), extent(x.size(2)), extent(x.size(3)));
    convolution_forward(static_cast<ConvolutionAlgorithm>(algorithm), geometry, {.maps = maps_of(input)},
                        filters_of(weight), data_of(bias.value_or(Tensor())), maps_of(y));
    context->save_for_backward({input, weight});
    context->saved_data["geometry"] = std::vector<int64_t>{stride, padding, algorithm, bias.has_value()};
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const std::vector<int64_t> geometry = context->saved_data["geometry"].toIntVector();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    Tensor dx;
    Tensor db;
    const Tensor dw = GradientTarget::tensor_for(weight);
    ConvolutionGradients wanted{.input = {}, .filters = filters_of(dw)};
    if (context->needs_input_grad(0)) {
      dx = make_maps(x, x.size(1), x.size(2), x.size(3));
      wanted.input = maps_of(dx);
    }
    if (geometry[3] != 0 && context->needs_input_grad(2)) {
      db = at::empty({weight.size(0)}, weight.options());
      wanted.bias = data_of(db);
    }
    convolution_backward(static_cast<ConvolutionAlgorithm>(geometry[2]),
                         {weight.size(2), geometry[0], geometry[1]}, {.maps = maps_of(x)}, filters_of(weight),
                         maps_of(g), wanted);
    return {dx, dw, db, Tensor(), Tensor(), Tensor()};
  }
};

class LinearFunction : public Function<LinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        bool is_relu) {
    const Tensor input = x.contiguous();
    const Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    linear_forward(shape_of(input, weight), data_of(input), data_of(weight), data_of(bias), is_relu,
                   data_of(y));
    context->save_for_backward({input, weight, is_relu ? y : Tensor()});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor g = gradients[0].contiguous();
    const Tensor dw = GradientTarget::tensor_for(weight);
    const Tensor dx = context->needs_input_grad(0) ? at::empty_like(x) : Tensor();
    const Tensor db = context->needs_input_grad(2) ? at::empty({weight.size(0)}, weight.options()) : Tensor();
    linear_backward(shape_of(x, weight), {.x = data_of(x),
                                          .weight = data_of(weight),
                                          .y_gradient = data_of(g),
                                          .y = data_of(saved[2]),
                                          .x_gradient = data_of(dx),
                                          .weight_gradient = data_of(dw),
                                          .bias_gradient = data_of(db)});
    return {dx, dw, db, Tensor()};
  }

 private:
  static LinearShape shape_of(const Tensor& x, const Tensor& weight) {
    return {x.size(0), weight.size(1), weight.size(0)};
  }
};

ScaleShift normalization_of(const Coefficients& by, const Tensor& shortcut, bool is_relu) {
  return {.scale = by.scale(),
          .shift = by.shift(),
          .addend = shortcut.defined() ? maps_of(shortcut) : Maps{},
          .is_relu = is_relu};
}

class BatchNormFunction : public Function<BatchNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor&, const Tensor&,
                        const MaybeTensor& shortcut, const BatchNormParts& parts, bool is_relu) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor addend = shortcut ? shortcut->contiguous(kChannelsLast) : Tensor();
    const Tensor mean = at::empty({x.size(1)}, x.options());
    const Tensor variance = at::empty_like(mean);
    channel_moments(maps_of(input), data_of(mean), data_of(variance));
    move_running(parts, mean, variance, maps_of(input).all_pixels());
    const Coefficients by(mean, variance, parts);
    const Tensor y = at::empty_like(input);
    normalize(maps_of(input), normalization_of(by, addend, is_relu), maps_of(y));
    const bool needs_output = is_relu && shortcut.has_value();
    context->save_for_backward({input, by.tensor(), needs_output ? y : Tensor()});
    context->saved_data["is_relu"] = is_relu;
    context->saved_data["has_shortcut"] = shortcut.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Coefficients by(saved[1]);
    const Tensor& y = saved[2];
    const bool is_relu = context->saved_data["is_relu"].toBool();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = at::empty_like(x);
    const Tensor dw = at::empty({x.size(1)}, x.options().memory_format(c10::nullopt));
    const Tensor db = at::empty_like(dw);
    BatchNormBackward pass{.x = maps_of(x),
                           .y_gradient = maps_of(g),
                           .mask = ReluMask::kNone,
                           .y = {},
                           .scale = by.scale(),
                           .shift = by.shift(),
                           .mean = by.mean(),
                           .inverse_std = by.inverse_std(),
                           .x_gradient = maps_of(dx),
                           .weight_gradient = data_of(dw),
                           .bias_gradient = data_of(db),
                           .addend_gradient = {}};
    if (is_relu) pass.mask = y.defined() ? ReluMask::kFromOutput : ReluMask::kFromInput;
    Tensor shortcut_gradient;
    if (context->saved_data["has_shortcut"].toBool() && context->needs_input_grad(3)) {
      shortcut_gradient = is_relu ? at::empty_like(x) : g;
      if (is_relu) pass.addend_gradient = maps_of(shortcut_gradient);
    }
    if (y.defined()) pass.y = maps_of(y);
    batch_norm_backward(pass);
    return {dx, dw, db, shortcut_gradient, Tensor(), Tensor()};
  }
};

class MaxPoolFunction : public Function<MaxPoolFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, int64_t side) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor y = make_maps(x, x.size(1), x.size(2) / side, x.size(3) / side);
    const Tensor places = at::empty({y.numel()}, x.options().dtype(torch::kUInt8));
    max_pool_forward(maps_of(input), side, maps_of(y), places.data_ptr<uint8_t>());
    context->save_for_backward({places});
    context->saved_data["shape"] = std::vector<int64_t>{x.size(2), x.size(3), side};
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::vector<int64_t> shape = context->saved_data["shape"].toIntVector();
    const Tensor places = context->get_saved_variables()[0];
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    if (torch::GradMode::is_enabled()) return {differentiable_gradient(g, places, shape), Tensor()};
    const Tensor dx = make_maps(g, g.size(1), shape[0], shape[1]);
    max_pool_backward(maps_of(g), shape[2], places.data_ptr<uint8_t>(), maps_of(dx));
    return {dx, Tensor()};
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

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvolutionGeometry& geometry, bool may_use_winograd) {
  const auto algorithm = choose_algorithm(geometry, x.size(1), x.size(2), x.size(3), may_use_winograd);
  return ConvolutionFunction::apply(x, weight, maybe(bias), geometry.stride, geometry.padding,
                                    static_cast<int64_t>(algorithm));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool is_relu) {
  return LinearFunction::apply(x, weight, bias, is_relu);
}

Tensor batch_norm(const Tensor& x, const BatchNormParts& parts, const Tensor& shortcut, bool is_relu) {
  return BatchNormFunction::apply(x, parts.weight, parts.bias, maybe(shortcut), parts, is_relu);
}

Tensor batch_norm_by_running(const Tensor& x, const BatchNormParts& parts, const Tensor& shortcut,
                             bool is_relu) {
  const Tensor input = x.contiguous(kChannelsLast);
  const Tensor addend = shortcut.defined() ? shortcut.contiguous(kChannelsLast) : Tensor();
  const Coefficients by(parts.running_mean, parts.running_var, parts);
  const Tensor y = at::empty_like(input);
  normalize(maps_of(input), normalization_of(by, addend, is_relu), maps_of(y));
  return y;
}

Tensor max_pool(const Tensor& x, int64_t side) {
  return MaxPoolFunction::apply(x, side);
}

}  // namespace batchplus::own
