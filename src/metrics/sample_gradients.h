#pragma once

#include "layers/batch_norm.h"
#include "metrics/objective_function.h"

namespace batchplus {

/// The gradients grad f_i of single samples, by their norms.
struct SampleGradientNorms {
  /// f_i: [n], float64.
  torch::Tensor losses;
  /// ||grad f_i||^2: [n], float64.
  torch::Tensor squared_norms;
  /// Its parts: [layers,n], float64, named by `layer_names`.
  torch::Tensor layer_squared_norms;
  std::vector<std::string> layer_names;
  /// grad F: [d].
  torch::Tensor gradient;
  /// What the reader should know, such as a layer that was looped over.
  std::vector<std::string> notes;

  /// E_i ||grad f_i||^2.
  double mean_squared_norm() const;
  /// E_i ||grad f_i - grad F||^2, which is the above less ||grad F||^2. Rounding makes it no less than zero,
  /// and of one sample it is zero.
  double variance() const;
};

struct SampleGradientOptions {
  /// kBatch normalises each chunk by its own statistics, held fixed.
  BatchNorm::Statistics statistics = BatchNorm::Statistics::kRunning;
};

/// The norms of all samples' gradients and the gradient of F, in one pass over the samples of `objective`.
/// Each layer follows the rule of its kind (layer_rules.h); parameters of other modules cost a loop over
/// samples.
SampleGradientNorms measure_sample_gradients(const ObjectiveFunction& objective,
                                             const SampleGradientOptions& options = {});

}  // namespace batchplus
