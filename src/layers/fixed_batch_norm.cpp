#include "layers/fixed_batch_norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/batch_norm.h"
#include "kernels/tensors.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::kChannelsLast;
using kernels::maps_of;

class FixedBatchNormFunction : public Function<FixedBatchNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor&, const Tensor&,
                        const Tensor&, const MaybeTensor& shortcut, const BatchNormCoefficients& by,
                        const Watch& watch, bool is_relu) {
    const Tensor addend = shortcut ? shortcut->contiguous(kChannelsLast) : Tensor();
    const Tensor y = at::empty_like(x);
    kernels::normalize(maps_of(x), by.scale_shift(addend, is_relu), maps_of(y));
    const bool needs_output = is_relu && shortcut.has_value();
    context->save_for_backward({x, by.tensor(), needs_output ? y : Tensor()});
    context->saved_data["is_relu"] = is_relu;
    context->saved_data["has_shortcut"] = shortcut.has_value();
    context->saved_data["watch"] = c10::IValue::make_capsule(c10::make_intrusive<Watch>(watch));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative();
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const BatchNormCoefficients by(saved[1]);
    const Tensor& y = saved[2];
    const bool is_relu = context->saved_data["is_relu"].toBool();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor weights = at::empty({x.size(0), x.size(1)}, x.options().memory_format(c10::nullopt));
    const Tensor biases = at::empty_like(weights);
    kernels::FixedBatchNormBackward pass{.x = maps_of(x),
                                         .y_gradient = maps_of(g),
                                         .mask = kernels::ReluMask::kNone,
                                         .y = {},
                                         .scale = by.scale(),
                                         .shift = by.shift(),
                                         .mean = by.mean(),
                                         .inverse_std = by.inverse_std(),
                                         .x_gradient = {},
                                         .addend_gradient = {},
                                         .sample_weights = data_of(weights),
                                         .sample_biases = data_of(biases)};
    if (is_relu) pass.mask = y.defined() ? kernels::ReluMask::kFromOutput : kernels::ReluMask::kFromInput;
    if (y.defined()) pass.y = maps_of(y);
    Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::empty_like(x);
      pass.x_gradient = maps_of(dx);
    }
    Tensor shortcut_gradient;
    if (context->saved_data["has_shortcut"].toBool() && context->needs_input_grad(4)) {
      shortcut_gradient = is_relu ? at::empty_like(x) : g;
      if (is_relu) pass.addend_gradient = maps_of(shortcut_gradient);
    }
    kernels::fixed_batch_norm_backward(pass);
    const auto watch = c10::dynamic_intrusive_pointer_cast<Watch>(context->saved_data["watch"].toCapsule());
    if (watch->watcher != nullptr) watch->watcher->on_backward({*watch->layer, {}, {}, weights, biases});
    const Tensor dw = context->needs_input_grad(1) ? sum_of_samples(weights) : Tensor();
    const Tensor db = context->needs_input_grad(2) ? sum_of_samples(biases) : Tensor();
    return {dx, dw, db, Tensor(), shortcut_gradient, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

torch::Tensor fixed_batch_norm(const Layer& layer, const torch::Tensor& x, const BatchNormCoefficients& by,
                               const torch::Tensor& shortcut, bool is_relu) {
  const Watch watch(&layer, layer.watcher());
  return FixedBatchNormFunction::apply(x, layer.weight(), layer.bias(),
                                       make_trigger(watch.watcher != nullptr), maybe(shortcut), by, watch,
                                       is_relu);
}

}  // namespace batchplus
