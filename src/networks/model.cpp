#include "networks/model.h"

#include <ATen/ATen.h>

namespace batchplus {

Kernels kernels_of(const Model& model) {
  const std::vector<Layer*> layers = layers_of(*model.module);
  return layers.empty() ? Kernels::kAten : layers.front()->kernels();
}

void use_memory_format(const Model& model) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model.module->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(model.memory_format));
  }
}

}  // namespace batchplus
