#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/flat_parameters.h"
#include "data/batch_source.h"
#include "layers/layer.h"
#include "networks/model.h"
#include "objective/loss.h"

namespace batchplus {

/// Where a layer's parameters are in the flat vector; one that is not trained has no place.
struct LayerPlace {
  /// As in the state dict, without ".weight".
  std::string name;
  const Layer* layer = nullptr;
  std::optional<size_t> weight;
  std::optional<size_t> bias;
};

/// Runs batches forwards and backwards in evaluation mode and shows each layer's input and output gradient
/// instead of letting autograd compute the parameters' gradients, which is then the visitor's to do. Own
/// kernels compute what they can (Layer::uses_own_kernels).
///
/// Layers of the project (src/layers) that a forward pass uses once are shown. The parameters of all
/// other modules are left to autograd ("rest").
class LayerPasses {
 public:
  /// Looks at one forward pass over `example`: [N,C,H,W] to see which layers there are.
  LayerPasses(const Model& model, const FlatParameters& parameters, const torch::Tensor& example);

  const std::vector<LayerPlace>& layers() const { return layers_; }
  /// Slices of the flat vector that belong to no layer that is shown.
  const std::vector<size_t>& rest() const { return rest_; }

  struct Visitor {
    /// In the order of the backward pass; `place` counts layers().
    std::function<void(size_t place, const LayerPass&)> on_layer;
    /// The gradient of sum_i f_i with respect to the parameters of a slice that belongs to the rest.
    std::function<void(size_t slice, const torch::Tensor& gradient)> on_rest;
  };
  /// Returns the losses f_i: [N]. The model must be in evaluation mode.
  torch::Tensor run(const Batch& batch, const SampleLoss& loss, const Visitor& visitor) const;

 private:
  Model model_;
  const FlatParameters& parameters_;
  std::vector<LayerPlace> layers_;
  std::vector<size_t> rest_;
};

/// Puts a module into evaluation mode until the end of the scope.
class EvaluationMode {
 public:
  explicit EvaluationMode(const Model& model) : module_(*model.module), was_training_(module_.is_training()) {
    module_.eval();
  }
  ~EvaluationMode() { module_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_;
};

}  // namespace batchplus
