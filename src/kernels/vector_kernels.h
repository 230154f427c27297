#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace batchplus::kernels {

/// Single passes over flat float32 vectors: vectorised and multi-threaded on CPU, composed of ATen operations
/// on other devices. Element-wise results do not depend on the number of threads or on the instruction set.

enum class UpdateKind { kPlain, kHeavyBall, kNesterov };

/// The gradient estimate v = gradient + coefficient * (control - mean), without weight decay. All mean
/// gradients.
struct EstimateTerms {
  /// g_t(w_{t-1}): [d].
  const at::Tensor* gradient = nullptr;
  /// g_t(w): [d]; null when there is no control variate.
  const at::Tensor* control = nullptr;
  /// mu: [d]; null when there is no control variate.
  const at::Tensor* mean = nullptr;
  double coefficient = 0;
};

struct UpdateConstants {
  UpdateKind kind = UpdateKind::kPlain;
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
};

/// Estimator, weight decay and update rule in one read of memory. With v the estimate plus weight_decay * w:
///   plain       w -= lr * v
///   heavy ball  m = momentum * m + v;  w -= lr * m
///   Nesterov    m = momentum * m + v;  w -= lr * (v + momentum * m)
/// `momentum_buffer` is unused for plain. Returns whether every new w is finite.
[[nodiscard]] bool fused_update(const at::Tensor& w, const at::Tensor& momentum_buffer,
                                const EstimateTerms& estimate, const UpdateConstants& constants);

/// The same from ATen operations, for other devices; bitwise equal to the fused pass on CPU.
[[nodiscard]] bool fused_update_aten(const at::Tensor& w, const at::Tensor& momentum_buffer,
                                     const EstimateTerms& estimate, const UpdateConstants& constants);

/// mean = sum_k weights[k] * vectors[k], summed in double in the order of k.
void weighted_sum(const std::vector<at::Tensor>& vectors, const std::vector<double>& weights,
                  const at::Tensor& mean);

/// sum += weight * vector, with sum: [d] in double. Adding one vector after the other and rounding the sum to
/// float gives the bits of weighted_sum.
void accumulate(const at::Tensor& sum, double weight, const at::Tensor& vector);

/// out = w + scale * direction.
void displace(const at::Tensor& w, double scale, const at::Tensor& direction, const at::Tensor& out);

/// average = decay * average + (1 - decay) * vector.
void move_towards(const at::Tensor& average, double decay, const at::Tensor& vector);

// The sums below are in double, in an order that does not depend on the number of threads.

/// ||vector||^2.
double squared_norm(const at::Tensor& vector);

/// ||a - b||^2.
double squared_distance(const at::Tensor& a, const at::Tensor& b);

/// How two gradients deviate from a mean.
struct DeviationSums {
  /// ||gradient - mean||^2.
  double gradient = 0;
  /// <gradient - mean, control - mean>.
  double product = 0;
  /// ||control - mean||^2.
  double control = 0;
};
DeviationSums deviation_sums(const at::Tensor& gradient, const at::Tensor& control, const at::Tensor& mean);

}  // namespace batchplus::kernels
