#pragma once

#include <functional>
#include <memory>

#include "core/torch.h"
#include "layers/layer.h"

namespace batchplus {

/// A classifier as the rest of the program sees it: any torch module with forward(Tensor) -> Tensor.
/// forward takes images [N,C,H,W] to logits [N,classes].
struct Model {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor& images)> forward;
  /// In which it wants its images.
  torch::MemoryFormat memory_format = torch::MemoryFormat::Contiguous;

  template <class Module>
  explicit Model(std::shared_ptr<Module> network)
      : module(network),
        forward([network](const torch::Tensor& images) { return network->forward(images); }) {}

  /// A module holder, as TORCH_MODULE makes them.
  template <class Module>
  explicit Model(const torch::nn::ModuleHolder<Module>& holder) : Model(holder.ptr()) {}
};

/// By which kernels its layers compute: those of the first one. libtorch's for a module without such layers.
Kernels kernels_of(const Model& model);

/// Lays the filters of its convolutions out in the model's memory format; their values stay the same.
void use_memory_format(const Model& model);

}  // namespace batchplus
