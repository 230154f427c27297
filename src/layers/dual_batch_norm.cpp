#include "layers/dual_batch_norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/dual_batch_norm.h"
#include "kernels/sample_rows.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::kChannelsLast;
using kernels::maps_of;

/// The affine map and its tangent.
struct DualCoefficients {
  BatchNormCoefficients value;
  BatchNormCoefficients tangent;
};

kernels::DualMaps dual_maps(const Tensor& value, const Tensor& tangent) {
  return {maps_of(value), maps_of(tangent)};
}

kernels::ConstDualMaps const_dual_maps(const Tensor& value, const Tensor& tangent) {
  return {maps_of(value), maps_of(tangent)};
}

class DualBatchNormFunction : public Function<DualBatchNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& x_tangent,
                               const Tensor&, const Tensor&, const MaybeTensor& shortcut,
                               const MaybeTensor& shortcut_tangent, const DualCoefficients& by,
                               bool is_relu) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor input_tangent = x_tangent.contiguous(kChannelsLast);
    const Tensor addend = shortcut ? shortcut->contiguous(kChannelsLast) : Tensor();
    const Tensor addend_tangent = shortcut ? shortcut_tangent->contiguous(kChannelsLast) : Tensor();
    const Tensor y = at::empty_like(input);
    const Tensor y_tangent = at::empty_like(input);
    kernels::DualScaleShift affine{.scale = by.value.scale(),
                                   .shift = by.value.shift(),
                                   .scale_tangent = by.tangent.scale(),
                                   .shift_tangent = by.tangent.shift(),
                                   .addend = {},
                                   .is_relu = is_relu};
    if (shortcut) affine.addend = const_dual_maps(addend, addend_tangent);
    kernels::normalize_dual(const_dual_maps(input, input_tangent), affine, dual_maps(y, y_tangent));
    const bool needs_output = is_relu && shortcut.has_value();
    context->save_for_backward(
        {input, input_tangent, by.value.tensor(), by.tangent.tensor(), needs_output ? y : Tensor()});
    context->saved_data["is_relu"] = is_relu;
    context->saved_data["has_shortcut"] = shortcut.has_value();
    return {y, y_tangent};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const BatchNormCoefficients by(saved[2]);
    const BatchNormCoefficients by_tangent(saved[3]);
    const Tensor& y = saved[4];
    const bool is_relu = context->saved_data["is_relu"].toBool();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor g_tangent = gradients[1].contiguous(kChannelsLast);
    const Tensor dx = at::empty_like(x);
    const Tensor dx_tangent = at::empty_like(x);
    const Tensor weights = at::empty({x.size(0), x.size(1)}, x.options().memory_format(c10::nullopt));
    const Tensor biases = at::empty_like(weights);
    kernels::DualBatchNormBackward pass{.x = const_dual_maps(x, saved[1]),
                                        .y_gradient = const_dual_maps(g, g_tangent),
                                        .mask = kernels::ReluMask::kNone,
                                        .y = {},
                                        .scale = by.scale(),
                                        .shift = by.shift(),
                                        .scale_tangent = by_tangent.scale(),
                                        .mean = by.mean(),
                                        .inverse_std = by.inverse_std(),
                                        .x_gradient = dual_maps(dx, dx_tangent),
                                        .addend_gradient = {},
                                        .sample_weights = data_of(weights),
                                        .sample_biases = data_of(biases)};
    if (is_relu) pass.mask = y.defined() ? kernels::ReluMask::kFromOutput : kernels::ReluMask::kFromInput;
    if (y.defined()) pass.y = maps_of(y);
    Tensor addend = g;
    Tensor addend_tangent = g_tangent;
    const bool has_shortcut = context->saved_data["has_shortcut"].toBool();
    if (has_shortcut && is_relu) {
      addend = at::empty_like(x);
      addend_tangent = at::empty_like(x);
      pass.addend_gradient = dual_maps(addend, addend_tangent);
    }
    kernels::dual_batch_norm_backward(pass);
    if (!has_shortcut) addend = addend_tangent = Tensor();
    return {dx,       dx_tangent, sum_of_samples(weights), sum_of_samples(biases), addend, addend_tangent,
            Tensor(), Tensor()};
  }
};

}  // namespace

torch::Tensor dual_batch_norm(const torch::Tensor& x, const BatchNorm::Moments& moments,
                              const BatchNormParts& parts, const torch::Tensor& shortcut, bool is_relu) {
  const auto coefficients = [&](const Tensor& weight, const Tensor& bias) {
    BatchNormParts moved = parts;
    moved.weight = weight;
    moved.bias = bias;
    return BatchNormCoefficients(moments.mean, moments.variance, moved);
  };
  const Tensor weight = tangent::value_of(parts.weight);
  const Tensor bias = tangent::value_of(parts.bias);
  const DualCoefficients by{coefficients(weight, bias),
                            coefficients(tangent::or_zeros(parts.weight), tangent::or_zeros(parts.bias))};
  const variable_list y = DualBatchNormFunction::apply(
      tangent::value_of(x), tangent::or_zeros(x), weight, bias, maybe(tangent::value_of(shortcut)),
      maybe(shortcut.defined() ? tangent::or_zeros(shortcut) : shortcut), by, is_relu);
  return tangent::join(y[0], y[1]);
}

}  // namespace batchplus
