#include "networks/own_functions.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/flat_parameters.h"
#include "kernels/batch_norm.h"
#include "kernels/linear.h"
#include "kernels/pooling.h"
#include "util/error.h"

namespace batchplus::own {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

/// The backward passes below give numbers, not functions that could be differentiated again.
void refuse_second_derivative() {
  if (!torch::GradMode::is_enabled()) return;
  throw Error("own kernels have first derivatives only",
              {"backward with create_graph", "training mode", "use_kernels(module, Kernels::kAten)"});
}

Maps maps_of(const Tensor& t) {
  return {t.data_ptr<float>(), t.size(0), t.size(2), t.size(3), t.size(1), t.size(1)};
}

Tensor make_maps(const Tensor& like, int64_t channels, int64_t height, int64_t width) {
  return at::empty({like.size(0), channels, height, width}, like.options().memory_format(kChannelsLast));
}

Filters filters_of(const Tensor& w) {
  // A 1x1 filter's last stride may be anything.
  return {w.data_ptr<float>(), w.size(0), w.size(1), w.size(2), w.stride(0), w.stride(1), w.stride(3)};
}

/// Null for an undefined tensor.
float* data_of(const Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}

/// How a Function takes a tensor that may be undefined.
using MaybeTensor = c10::optional<Tensor>;

MaybeTensor maybe(const Tensor& t) {
  return t.defined() ? MaybeTensor(t) : MaybeTensor();
}

float* data_of(const MaybeTensor& t) {
  return t ? data_of(*t) : nullptr;
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
                        filters_of(weight), data_of(bias), maps_of(y));
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

/// y = scale * x + shift: scale = weight / sqrt(variance + epsilon), shift = bias - mean * scale. [4,C]:
/// mean, inverse standard deviation, scale, shift.
Tensor coefficients(const Tensor& mean, const Tensor& variance, const BatchNormParts& parts) {
  const int64_t channels = mean.numel();
  const Tensor rows = at::empty({4, channels}, mean.options());
  float* to = rows.data_ptr<float>();
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
  return rows;
}

void move_running(const Tensor& running, const float* value, double factor, double momentum) {
  float* to = running.data_ptr<float>();
  for (int64_t c = 0; c < running.numel(); ++c) {
    to[c] = static_cast<float>((1 - momentum) * static_cast<double>(to[c]) +
                               momentum * factor * static_cast<double>(value[c]));
  }
}

Normalization normalization_of(const Tensor& rows, const Tensor& shortcut, bool is_relu) {
  const int64_t channels = rows.size(1);
  const float* data = rows.data_ptr<float>();
  return {.scale = data + 2 * channels,
          .shift = data + 3 * channels,
          .addend = shortcut.defined() ? maps_of(shortcut) : Maps{},
          .is_relu = is_relu};
}

class BatchNormFunction : public Function<BatchNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const MaybeTensor& shortcut, const BatchNormParts& parts, bool is_relu) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor addend = shortcut ? shortcut->contiguous(kChannelsLast) : Tensor();
    const Tensor mean = at::empty({x.size(1)}, x.options());
    const Tensor variance = at::empty_like(mean);
    channel_moments(maps_of(input), data_of(mean), data_of(variance));
    const auto count = static_cast<double>(maps_of(input).all_pixels());
    move_running(parts.running_mean, data_of(mean), 1, parts.momentum);
    move_running(parts.running_var, data_of(variance), count / (count - 1), parts.momentum);
    const Tensor rows = coefficients(mean, variance, parts);
    const Tensor y = at::empty_like(input);
    normalize(maps_of(input), normalization_of(rows, addend, is_relu), maps_of(y));
    const bool needs_output = is_relu && shortcut.has_value();
    context->save_for_backward({input, weight, rows, needs_output ? y : Tensor()});
    context->saved_data["is_relu"] = is_relu;
    context->saved_data["has_shortcut"] = shortcut.has_value();
    static_cast<void>(bias);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& rows = saved[2];
    const Tensor& y = saved[3];
    const bool is_relu = context->saved_data["is_relu"].toBool();
    const int64_t channels = rows.size(1);
    const float* row = data_of(rows);
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = at::empty_like(x);
    const Tensor dw = at::empty({channels}, x.options());
    const Tensor db = at::empty_like(dw);
    BatchNormBackward pass{.x = maps_of(x),
                           .y_gradient = maps_of(g),
                           .mask = ReluMask::kNone,
                           .y = {},
                           .scale = row + 2 * channels,
                           .shift = row + 3 * channels,
                           .mean = row,
                           .inverse_std = row + channels,
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
    refuse_second_derivative();
    const std::vector<int64_t> shape = context->saved_data["shape"].toIntVector();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = make_maps(g, g.size(1), shape[0], shape[1]);
    max_pool_backward(maps_of(g), shape[2], context->get_saved_variables()[0].data_ptr<uint8_t>(),
                      maps_of(dx));
    return {dx, Tensor()};
  }
};

}  // namespace

bool takes(const Tensor& tensor) {
  constexpr uint64_t kLevel = 0;
  return tensor.is_cpu() && tensor.scalar_type() == torch::kFloat32 && !tensor._fw_grad(kLevel).defined();
}

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
  const Tensor rows = coefficients(parts.running_mean, parts.running_var, parts);
  const Tensor y = at::empty_like(input);
  normalize(maps_of(input), normalization_of(rows, addend, is_relu), maps_of(y));
  return y;
}

Tensor max_pool(const Tensor& x, int64_t side) {
  return MaxPoolFunction::apply(x, side);
}

}  // namespace batchplus::own
