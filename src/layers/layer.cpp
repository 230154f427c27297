#include "layers/layer.h"

#include <ATen/ops/relu.h>

#include <cmath>

#include "kernels/processor.h"
#include "kernels/tensors.h"
#include "layers/initialization.h"

namespace batchplus {

void Layer::register_uniform(at::IntArrayRef weight_shape, bool has_bias) {
  const torch::NoGradGuard no_grad;
  weight_ = register_parameter("weight", torch::empty(weight_shape));
  // As PyTorch's kaiming_uniform_ computes it, to the last bit.
  const double slope = std::sqrt(5.0);
  const double gain = std::sqrt(2.0 / (1 + slope * slope));
  const double root = std::sqrt(static_cast<double>(fan_in()));
  fill::uniform(weight_, std::sqrt(3.0) * (gain / root));
  if (!has_bias) return;
  bias_ = register_parameter("bias", torch::empty({weight_.size(0)}));
  fill::uniform(bias_, 1 / root);
}

// No layer's backward pass needs its output, so what follows may overwrite it, unless an observer waits for
// the output's gradient.
torch::Tensor Layer::relu(const torch::Tensor& x) {
  torch::Tensor y = forward(x);
  return is_observed() || tangent::exists(y) ? at::relu(y) : at::relu_(y);
}

bool Layer::uses_own_kernels(const torch::Tensor& x) const {
  const bool can_tell = observer_ == nullptr && (gradient_observer_ == nullptr || !is_training());
  return kernels_ != Kernels::kAten && can_tell && kernels::are_available() && kernels::take(x) &&
         kernels::take(weight_) && (!bias_.defined() || kernels::take(bias_));
}

GradientObserver* Layer::watcher() const {
  const bool is_watched =
      gradient_observer_ != nullptr && torch::GradMode::is_enabled() && gradient_observer_->watches(*this);
  return is_watched ? gradient_observer_ : nullptr;
}

void Layer::observed(const torch::Tensor& input, const torch::Tensor& output) const {
  if (observer_ != nullptr) observer_->on_forward(*this, input, output);
  GradientObserver* watcher = this->watcher();
  if (watcher == nullptr) return;
  // Nothing before the first layers has a gradient: the graph begins with their outputs.
  if (!output.requires_grad()) output.set_requires_grad(true);
  output.register_hook([this, watcher, input](const torch::Tensor& gradient) {
    const torch::NoGradGuard no_grad;
    watcher->on_backward({*this, input, gradient});
  });
}

std::vector<Layer*> layers_of(torch::nn::Module& module) {
  std::vector<Layer*> layers;
  if (auto* itself = dynamic_cast<Layer*>(&module)) layers.push_back(itself);
  // Not modules() with the module itself, which fails in a network's constructor.
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (auto* layer = dynamic_cast<Layer*>(part.get())) layers.push_back(layer);
  }
  return layers;
}

KernelsInScope::KernelsInScope(torch::nn::Module& module, Kernels kernels) {
  for (Layer* layer : layers_of(module)) {
    before_.emplace_back(layer, layer->kernels());
    layer->set_kernels(kernels);
  }
}

KernelsInScope::~KernelsInScope() {
  for (const auto& [layer, kernels] : before_) layer->set_kernels(kernels);
}

void use_kernels(torch::nn::Module& module, Kernels kernels) {
  for (Layer* layer : layers_of(module)) layer->set_kernels(kernels);
}

LayerObservation::LayerObservation(torch::nn::Module& module, LayerObserver& observer)
    : layers_(layers_of(module)) {
  for (Layer* layer : layers_) layer->observer_ = &observer;
}

LayerObservation::LayerObservation(torch::nn::Module& module, GradientObserver& observer)
    : layers_(layers_of(module)) {
  for (Layer* layer : layers_) layer->gradient_observer_ = &observer;
}

LayerObservation::~LayerObservation() {
  for (Layer* layer : layers_) {
    layer->observer_ = nullptr;
    layer->gradient_observer_ = nullptr;
  }
}

}  // namespace batchplus
