#include "networks/layers.h"

#include <ATen/ATen.h>
#include <torch/nn/init.h>

#include <cmath>

#include "kernels/processor.h"
#include "kernels/tensors.h"

namespace batchplus {
namespace {

/// Whether a forward derivative is being computed with respect to the tensor.
bool has_tangent(const torch::Tensor& tensor) {
  constexpr uint64_t kLevel = 0;
  return tensor._fw_grad(kLevel).defined();
}

}  // namespace

void Layer::register_uniform(at::IntArrayRef weight_shape, bool has_bias) {
  weight_ = register_parameter("weight", torch::empty(weight_shape));
  torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5.0));
  if (!has_bias) return;
  const double bound = 1 / std::sqrt(static_cast<double>(weight_.numel() / weight_.size(0)));
  bias_ = register_parameter("bias", torch::empty({weight_.size(0)}));
  torch::nn::init::uniform_(bias_, -bound, bound);
}

// No layer's backward pass needs its output, so what follows may overwrite it, unless an observer waits for
// the output's gradient.
torch::Tensor Layer::relu(const torch::Tensor& x) {
  torch::Tensor y = forward(x);
  return is_observed() ? at::relu(y) : at::relu_(y);
}

bool Layer::uses_own_kernels(const torch::Tensor& x) const {
  const bool has_derivatives = is_training() || !torch::GradMode::is_enabled();
  return kernels_ != Kernels::kAten && has_derivatives && !is_observed() && kernels::are_available() &&
         kernels::take(x) && kernels::take(weight_);
}

KernelsInScope::KernelsInScope(torch::nn::Module& module, Kernels kernels) {
  for (const auto& part : module.modules()) {
    auto* layer = dynamic_cast<Layer*>(part.get());
    if (layer == nullptr) continue;
    before_.emplace_back(layer, layer->kernels());
    layer->set_kernels(kernels);
  }
}

KernelsInScope::~KernelsInScope() {
  for (const auto& [layer, kernels] : before_) layer->set_kernels(kernels);
}

void use_kernels(torch::nn::Module& module, Kernels kernels) {
  for (const auto& part : module.modules()) {
    if (auto* layer = dynamic_cast<Layer*>(part.get())) layer->set_kernels(kernels);
  }
}

LayerObservation::LayerObservation(torch::nn::Module& module, LayerObserver& observer) {
  for (const auto& part : module.modules()) {
    if (auto* layer = dynamic_cast<Layer*>(part.get())) {
      layer->observer_ = &observer;
      layers_.push_back(layer);
    }
  }
}

LayerObservation::~LayerObservation() {
  for (Layer* layer : layers_) layer->observer_ = nullptr;
}

Convolution::Convolution(const Options& options) : options_(options) {
  register_uniform({options.out, options.in, options.kernel, options.kernel}, options.has_bias);
}

torch::Tensor Convolution::forward(const torch::Tensor& x) {
  if (uses_own_kernels(x)) {
    return own::convolution(x, weight_, bias_, {options_.kernel, options_.stride, options_.padding},
                            kernels() == Kernels::kFast);
  }
  const torch::Tensor y = at::conv2d(x, weight_, bias_, options_.stride, options_.padding);
  observed(x, y);
  return y;
}

Linear::Linear(int64_t in, int64_t out) {
  register_uniform({out, in}, /*has_bias=*/true);
}

torch::Tensor Linear::relu(const torch::Tensor& x) {
  return uses_own_kernels(x) ? own::linear(x, weight_, bias_, /*is_relu=*/true) : Layer::relu(x);
}

torch::Tensor Linear::forward(const torch::Tensor& x) {
  if (uses_own_kernels(x)) return own::linear(x, weight_, bias_, /*is_relu=*/false);
  const torch::Tensor y = at::linear(x, weight_, bias_);
  observed(x, y);
  return y;
}

BatchNorm::BatchNorm(int64_t channels) {
  weight_ = register_parameter("weight", torch::ones({channels}));
  bias_ = register_parameter("bias", torch::zeros({channels}));
  running_mean_ = register_buffer("running_mean", torch::zeros({channels}));
  running_var_ = register_buffer("running_var", torch::ones({channels}));
  num_batches_tracked_ = register_buffer("num_batches_tracked", torch::tensor(0, torch::kInt64));
}

bool BatchNorm::is_fusing(const torch::Tensor& x) const {
  return uses_own_kernels(x) && (is_training() || statistics_ == Statistics::kRunning);
}

own::BatchNormParts BatchNorm::begin_batch() {
  if (is_training()) num_batches_tracked_ += 1;
  return {weight_, bias_, running_mean_, running_var_, kMomentum, kEpsilon};
}

torch::Tensor BatchNorm::fused(const torch::Tensor& x, const torch::Tensor& shortcut, bool is_relu) {
  const own::BatchNormParts parts = begin_batch();
  return is_training() ? own::batch_norm(x, parts, shortcut, is_relu)
                       : own::batch_norm_by_running(x, parts, shortcut, is_relu);
}

torch::Tensor BatchNorm::relu(const torch::Tensor& x) {
  return is_fusing(x) ? fused(x, {}, /*is_relu=*/true) : Layer::relu(x);
}

torch::Tensor BatchNorm::forward(const torch::Tensor& x) {
  if (is_fusing(x)) return fused(x, {}, /*is_relu=*/false);
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
  if (has_tangent(x) || has_tangent(weight_)) {
    // libtorch 1.13 cannot differentiate its batch norm's backward pass forwards; this it can.
    const torch::Tensor scale = (moments.variance + kEpsilon).rsqrt();
    const auto along_channels = [](const torch::Tensor& c) { return c.view({1, -1, 1, 1}); };
    const torch::Tensor slope = weight_ * scale;
    return at::addcmul(along_channels(bias_ - slope * moments.mean), x, along_channels(slope));
  }
  return at::batch_norm(x, weight_, bias_, moments.mean, moments.variance, /*training=*/false, kMomentum,
                        kEpsilon, /*cudnn_enabled=*/true);
}

BatchNorm::Moments BatchNorm::evaluation_moments(const torch::Tensor& x) const {
  if (statistics_ == Statistics::kRunning) return {running_mean_, running_var_};
  const torch::NoGradGuard no_grad;
  const auto [variance, mean] = at::var_mean(x.detach(), {0, 2, 3}, /*unbiased=*/false);
  return {mean, variance};
}

torch::Tensor BatchNorm::add_relu(const torch::Tensor& x, const torch::Tensor& shortcut) {
  if (is_fusing(x)) return fused(x, shortcut, /*is_relu=*/true);
  torch::Tensor y = forward(x);
  torch::Tensor sum = is_observed() ? y + shortcut : y.add_(shortcut);
  return at::relu_(sum);
}

namespace ops {

torch::Tensor max_pool(const torch::Tensor& x, int64_t side, Kernels kernels) {
  const bool is_own = kernels != Kernels::kAten && kernels::are_available() && kernels::take(x) &&
                      x.is_contiguous(torch::MemoryFormat::ChannelsLast);
  return is_own ? own::max_pool(x, side) : at::max_pool2d(x, side);
}

torch::Tensor average_pool(const torch::Tensor& x, int64_t side) {
  return at::avg_pool2d(x, side);
}

torch::Tensor global_average_pool(const torch::Tensor& x) {
  return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
}

torch::Tensor dropout(const torch::Tensor& x, double p, bool is_training) {
  return p > 0 ? at::dropout(x, p, is_training) : x;
}

torch::Tensor subsample_and_pad(const torch::Tensor& x, int64_t channels) {
  const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
  return at::constant_pad_nd(half, {0, 0, 0, 0, channels, channels});
}

}  // namespace ops

void GrowingMaps::append(const torch::Tensor& maps) {
  all_ = at::cat({all_, maps}, 1);
}

}  // namespace batchplus
