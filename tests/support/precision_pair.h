#pragma once

#include <memory>
#include <string>

#include "support/problem.h"

namespace batchplus::testing {

/// The problem of network_problem in single precision with these kernels and in double with the same numbers.
struct PrecisionPair {
  PrecisionPair(const std::string& name, Kernels kernels, NormalizationKind normalization, int64_t samples)
      : own(network_problem(name, 10, samples, torch::kFloat32, options_for(kernels), normalization)) {
    Model exact_model =
        build_network(find_network(name), {.classes = 10, .normalization = normalization}, /*seed=*/3);
    exact_model.module->to(torch::kFloat64);
    copy(own->model.module->parameters(), exact_model.module->parameters());
    copy(own->model.module->buffers(), exact_model.module->buffers());
    exact = std::make_unique<Problem>(exact_model, own->images.to(torch::kFloat64), own->labels,
                                      options_for(Kernels::kAten));
    use_kernels(*own->model.module, kernels);
  }
  static void copy(const std::vector<torch::Tensor>& from, const std::vector<torch::Tensor>& to) {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }
  /// Chunks of several samples, the last of which is not full.
  static ObjectiveFunction::Options options_for(Kernels kernels) {
    return {.loss = cross_entropies_by(kernels), .chunk = 6};
  }

  std::unique_ptr<Problem> own;
  std::unique_ptr<Problem> exact;
};

/// Numbers that are the same on every machine, as libtorch's random ones are not.
inline torch::Tensor plain_images(int64_t samples) {
  const torch::Tensor index = torch::arange(samples * 3 * 32 * 32, torch::kInt64);
  return ((index * 7919 % 1009).to(torch::kFloat32) / 512 - 1).view({samples, 3, 32, 32});
}

}  // namespace batchplus::testing
