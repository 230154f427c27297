#include "metrics/layer_pass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>

#include "metrics/layer_rules.h"

namespace batchplus {
namespace {

/// Counts how often a forward pass uses each layer.
class UseCounter : public LayerObserver {
 public:
  void on_forward(const Layer& layer, const torch::Tensor&, const torch::Tensor&) override { ++uses[&layer]; }
  std::unordered_map<const Layer*, int> uses;
};

/// Hands the layers that have a place to a visitor.
class Visits : public GradientObserver {
 public:
  Visits(const std::vector<LayerPlace>& layers, const LayerPasses::Visitor& visitor) : visitor_(visitor) {
    for (size_t i = 0; i < layers.size(); ++i) places_[layers[i].layer] = i;
  }

  bool watches(const Layer& layer) const override { return places_.contains(&layer); }
  void on_backward(const LayerPass& pass) override { visitor_.on_layer(places_.at(&pass.layer), pass); }

 private:
  const LayerPasses::Visitor& visitor_;
  std::unordered_map<const Layer*, size_t> places_;
};

/// Keeps autograd from computing the gradients of parameters until the end of the scope.
class WithoutGradient {
 public:
  void add(const torch::Tensor& parameter) {
    parameter.set_requires_grad(false);
    parameters_.push_back(parameter);
  }
  WithoutGradient() = default;
  ~WithoutGradient() {
    for (const auto& parameter : parameters_) parameter.set_requires_grad(true);
  }
  WithoutGradient(const WithoutGradient&) = delete;
  WithoutGradient& operator=(const WithoutGradient&) = delete;

 private:
  std::vector<torch::Tensor> parameters_;
};

/// Shows the gradients of leaf parameters to a function until the end of the scope, and leaves none in them.
class ParameterHooks {
 public:
  void add(const torch::Tensor& parameter, std::function<void(const torch::Tensor&)> show) {
    const auto hook = parameter.register_hook([show = std::move(show)](const torch::Tensor& gradient) {
      const torch::NoGradGuard no_grad;
      show(gradient);
    });
    hooks_.push_back({parameter, parameter.grad(), hook});
  }
  ParameterHooks() = default;
  ~ParameterHooks() {
    for (const auto& [parameter, gradient_before, hook] : hooks_) {
      parameter.remove_hook(hook);
      parameter.mutable_grad() = gradient_before;
    }
  }
  ParameterHooks(const ParameterHooks&) = delete;
  ParameterHooks& operator=(const ParameterHooks&) = delete;

 private:
  struct Entry {
    torch::Tensor parameter;
    torch::Tensor gradient_before;
    unsigned hook;
  };
  std::vector<Entry> hooks_;
};

}  // namespace

LayerPasses::LayerPasses(const Model& model, const FlatParameters& parameters, const torch::Tensor& example)
    : model_(model), parameters_(parameters) {
  UseCounter counter;
  {
    const torch::NoGradGuard no_grad;
    const EvaluationMode evaluation(model_);
    const LayerObservation observation(*model_.module, counter);
    model_.forward(example);
  }
  const auto& slices = parameters_.slices();
  std::vector<bool> is_shown(slices.size(), false);
  const auto slice_of = [&](const torch::Tensor& parameter) -> std::optional<size_t> {
    for (size_t i = 0; i < slices.size(); ++i) {
      if (parameter.defined() && slices[i].parameter.is_same(parameter)) return i;
    }
    return std::nullopt;
  };
  for (const auto& item : model_.module->named_modules()) {
    const auto* layer = dynamic_cast<const Layer*>(item.value().get());
    if (layer == nullptr || counter.uses[layer] != 1) continue;
    const LayerPlace place{item.key(), layer, slice_of(layer->weight()), slice_of(layer->bias())};
    const bool is_trained = place.weight && (place.bias || !layer->bias().defined());
    if (!is_trained) continue;
    const auto is_taken = [&](const std::optional<size_t>& slice) { return slice && is_shown[*slice]; };
    if (is_taken(place.weight) || is_taken(place.bias)) continue;
    for (const auto& slice : {place.weight, place.bias}) {
      if (slice) is_shown[*slice] = true;
    }
    rule_for(*layer);  // a kind without one is told before anything is computed
    layers_.push_back(place);
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!is_shown[i]) rest_.push_back(i);
  }
}

torch::Tensor LayerPasses::run(const Batch& batch, const SampleLoss& loss, const Visitor& visitor) const {
  WithoutGradient without_gradient;
  for (const LayerPlace& place : layers_) {
    for (const auto& slice : {place.weight, place.bias}) {
      if (slice) without_gradient.add(parameters_.tensors()[*slice]);
    }
  }
  ParameterHooks parameter_hooks;
  for (const size_t slice : rest_) {
    parameter_hooks.add(parameters_.tensors()[slice],
                        [&, slice](const torch::Tensor& gradient) { visitor.on_rest(slice, gradient); });
  }
  Visits visits(layers_, visitor);
  const torch::AutoGradMode with_grad(true);
  torch::Tensor losses;
  {
    const LayerObservation observation(*model_.module, visits);
    losses = loss(model_.forward(batch.images), batch.labels);
  }
  losses.sum().backward();
  return losses.detach();
}

}  // namespace batchplus
