#pragma once

#include <cstdint>

namespace batchplus::kernels {

/// What samples are meant to be taken for: the probability q_k of each class.
struct Targets {
  /// [samples]: the class that has q = 1 - smoothing, and its share of the smoothing.
  const int64_t* labels = nullptr;
  /// [samples]: other labels that have a part of that probability; null: none.
  const int64_t* partners = nullptr;
  /// The labels' part; the partners have the rest.
  double share = 1;
  /// What all classes share alike (Szegedy et al. 2016).
  double smoothing = 0;
};

/// The mean over samples of log(sum_k exp(z_k)) - sum_k q_k z_k for logits z: [samples, classes]. `gradient`
/// gets its gradient with respect to the logits, unless null. In double, sample by sample: the same bits on
/// every processor.
double mean_cross_entropy(int64_t samples, int64_t classes, const float* logits, const Targets& targets,
                          float* gradient);

/// The same of each sample: losses: [samples]. `gradient` gets that of their sum, unless null.
void cross_entropies(int64_t samples, int64_t classes, const float* logits, const int64_t* labels,
                     float* losses, float* gradient);

/// The derivatives of these losses along tangents z' of the logits, sum_k g_k z'_k with g as `gradient`
/// above: tangents: [samples]. `second` gets the gradient of their sum with respect to the logits, p_k (z'_k
/// - sum_j p_j z'_j) with the probabilities p. Portable too.
void cross_entropy_tangents(int64_t samples, int64_t classes, const float* gradient, const int64_t* labels,
                            const float* logits_tangent, float* tangents, float* second);

}  // namespace batchplus::kernels
