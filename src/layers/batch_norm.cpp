#include "layers/batch_norm.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/var_mean.h>

#include "kernels/batch_norm.h"
#include "kernels/tensors.h"
#include "layers/dual_batch_norm.h"
#include "layers/fixed_batch_norm.h"
#include "layers/function.h"

namespace batchplus {
namespace {

using namespace function;
using kernels::data_of;
using kernels::kChannelsLast;
using kernels::maps_of;

class BatchNormFunction : public Function<BatchNormFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor&, const Tensor&,
                        const MaybeTensor& shortcut, const BatchNormParts& parts, bool is_relu) {
    const Tensor input = x.contiguous(kChannelsLast);
    const Tensor addend = shortcut ? shortcut->contiguous(kChannelsLast) : Tensor();
    const Tensor mean = at::empty({x.size(1)}, x.options());
    const Tensor variance = at::empty_like(mean);
    kernels::channel_moments(maps_of(input), data_of(mean), data_of(variance));
    move_running(parts, mean, variance, kernels::batch_pixels(maps_of(input)));
    const BatchNormCoefficients by(mean, variance, parts);
    const Tensor y = at::empty_like(input);
    kernels::normalize(maps_of(input), by.scale_shift(addend, is_relu), maps_of(y));
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
    const BatchNormCoefficients by(saved[1]);
    const Tensor& y = saved[2];
    const bool is_relu = context->saved_data["is_relu"].toBool();
    const Tensor g = gradients[0].contiguous(kChannelsLast);
    const Tensor dx = at::empty_like(x);
    const Tensor dw = at::empty({x.size(1)}, x.options().memory_format(c10::nullopt));
    const Tensor db = at::empty_like(dw);
    kernels::BatchNormBackward pass{.x = maps_of(x),
                                    .y_gradient = maps_of(g),
                                    .mask = kernels::ReluMask::kNone,
                                    .y = {},
                                    .scale = by.scale(),
                                    .shift = by.shift(),
                                    .mean = by.mean(),
                                    .inverse_std = by.inverse_std(),
                                    .x_gradient = maps_of(dx),
                                    .weight_gradient = data_of(dw),
                                    .bias_gradient = data_of(db),
                                    .addend_gradient = {}};
    if (is_relu) pass.mask = y.defined() ? kernels::ReluMask::kFromOutput : kernels::ReluMask::kFromInput;
    Tensor shortcut_gradient;
    if (context->saved_data["has_shortcut"].toBool() && context->needs_input_grad(3)) {
      shortcut_gradient = is_relu ? at::empty_like(x) : g;
      if (is_relu) pass.addend_gradient = maps_of(shortcut_gradient);
    }
    if (y.defined()) pass.y = maps_of(y);
    kernels::batch_norm_backward(pass);
    return {dx, dw, db, shortcut_gradient, Tensor(), Tensor()};
  }
};

/// By own kernels.
BatchNorm::Moments moments_of(const Tensor& x) {
  const torch::NoGradGuard no_grad;
  const Tensor mean = at::empty({x.size(1)}, x.options().memory_format(c10::nullopt));
  const BatchNorm::Moments moments{mean, at::empty_like(mean)};
  kernels::channel_moments(maps_of(x), data_of(moments.mean), data_of(moments.variance));
  return moments;
}

}  // namespace

BatchNorm::BatchNorm(int64_t channels) {
  register_unit(channels);
  running_mean_ = register_buffer("running_mean", torch::zeros({channels}));
  running_var_ = register_buffer("running_var", torch::ones({channels}));
  num_batches_tracked_ = register_buffer("num_batches_tracked", torch::tensor(0, torch::kInt64));
}

bool BatchNorm::is_fusing(const torch::Tensor& x) const {
  return uses_own_kernels(x) && (is_training() || statistics_ == Statistics::kRunning);
}

bool BatchNorm::has_kernels(const torch::Tensor& x) const {
  return uses_own_kernels(x) && !(is_training() && has_tangent(x));
}

BatchNormParts BatchNorm::begin_batch() {
  if (is_training()) num_batches_tracked_ += 1;
  return {weight_, bias_, running_mean_, running_var_, kMomentum, kEpsilon};
}

torch::Tensor BatchNorm::fused(const torch::Tensor& x, const torch::Tensor& shortcut, bool is_relu) {
  const BatchNormParts parts = begin_batch();
  if (is_training()) {
    return BatchNormFunction::apply(x, parts.weight, parts.bias, maybe(shortcut), parts, is_relu);
  }
  const torch::Tensor input = x.contiguous(kChannelsLast);
  const Moments moments = statistics_ == Statistics::kRunning ? evaluation_moments(x) : moments_of(input);
  if (has_tangent(x) || tangent::exists(shortcut)) {
    return dual_batch_norm(input, moments, parts, shortcut, is_relu);
  }
  return fixed_batch_norm(*this, input, {moments.mean, moments.variance, parts}, shortcut, is_relu);
}

torch::Tensor BatchNorm::relu(const torch::Tensor& x) {
  return has_kernels(x) ? fused(x, {}, /*is_relu=*/true) : NormalizationLayer::relu(x);
}

torch::Tensor BatchNorm::add_relu(const torch::Tensor& x, const torch::Tensor& shortcut) {
  return has_kernels(x) ? fused(x, shortcut, /*is_relu=*/true) : NormalizationLayer::add_relu(x, shortcut);
}

torch::Tensor BatchNorm::forward(const torch::Tensor& x) {
  if (has_kernels(x)) return fused(x, {}, /*is_relu=*/false);
  torch::Tensor y;
  if (is_training()) {
    num_batches_tracked_ += 1;
    y = at::batch_norm(x, weight_, bias_, running_mean_, running_var_, /*training=*/true, kMomentum, kEpsilon,
                       /*cudnn_enabled=*/true);
  } else {
    y = evaluate(x);
  }
  observed(x, y);
  return y;
}

torch::Tensor BatchNorm::evaluate(const torch::Tensor& x) const {
  const Moments moments = evaluation_moments(x);
  return at::batch_norm(x, weight_, bias_, moments.mean, moments.variance, /*training=*/false, kMomentum,
                        kEpsilon, /*cudnn_enabled=*/true);
}

BatchNorm::Moments BatchNorm::evaluation_moments(const torch::Tensor& x) const {
  if (statistics_ == Statistics::kRunning) return {running_mean_, running_var_};
  const torch::NoGradGuard no_grad;
  const auto [variance, mean] = at::var_mean(x.detach(), {0, 2, 3}, /*unbiased=*/false);
  return {mean, variance};
}

std::string BatchNorm::describe() const {
  return "batch norm";
}

}  // namespace batchplus
