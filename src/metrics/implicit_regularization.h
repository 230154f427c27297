#pragma once

#include <cstdint>
#include <vector>

namespace batchplus {

class Measurer;
struct Quantity;

/// How strongly training penalises its own gradients. Steps of length eta along v_t = g_t + c (g_t(w) - mu)
/// follow, to second order in eta and in the mean over orders, the gradient flow of (docs/theory.md)
///   F + (eta/4) ||grad F||^2 + (eta/4) s sigma^2/b,    s = 1 + c (K-1)/K,
/// with sigma^2 the variance of a sample's gradient and K inner batches of b samples in an outer batch of B.
/// c = 0 is SGD (Smith et al. 2021). Cost: none beside gradient-norms.
struct ImplicitRegularization {
  /// eta.
  double learning_rate = 0;
  /// c; 0 without a control variate.
  double coefficient = 0;
  /// b and B.
  int64_t inner_batch = 1;
  int64_t outer_batch = 1;
  /// Outer batches are cut from a shuffled pass over the n samples. Where each is drawn afresh instead, two
  /// of them know nothing of each other, and in place of 1 in s stands (K-1) b/n: next to nothing, unless B
  /// is near n.
  bool is_reshuffled = true;
  /// n, for outer batches that are drawn afresh.
  int64_t train_samples = 1;

  /// K.
  int64_t inner_batches() const { return outer_batch / inner_batch; }
  /// s. Samples of an outer batch that no inner batch takes weaken it: it is K b / B times the formula.
  double noise_factor() const;
  double noise_penalty(double gradient_variance) const;
  double drift_penalty(double squared_full_norm) const;
};

/// noise_penalty and drift_penalty, each with its share of F; nothing but a note where the options do not say
/// how the weights are trained.
std::vector<Quantity> measure_implicit_regularization(Measurer& measurer);

}  // namespace batchplus
