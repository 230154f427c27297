#pragma once

#include "layers/batch_norm_coefficients.h"
#include "layers/normalization.h"

namespace batchplus {

/// Normalises each channel of [N,C,H,W]: eps 1e-5, momentum 0.1, unbiased running variance.
class BatchNorm : public NormalizationLayer {
 public:
  /// By which statistics evaluation mode normalises: the running ones, or the batch's own held fixed (no
  /// derivative goes through them).
  enum class Statistics { kRunning, kBatch };
  struct Moments {
    /// [C] each.
    torch::Tensor mean;
    torch::Tensor variance;
  };

  explicit BatchNorm(int64_t channels);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor relu(const torch::Tensor& x) override;
  torch::Tensor add_relu(const torch::Tensor& x, const torch::Tensor& shortcut) override;
  std::string describe() const override;

  /// Whether a block may compute this layer on x together with others: by own kernels, and not by the
  /// moments of x in evaluation mode.
  bool is_fusing(const torch::Tensor& x) const;
  /// For code that computes this layer together with others; counts the batch in training mode.
  BatchNormParts begin_batch();

  void set_evaluation_statistics(Statistics statistics) { statistics_ = statistics; }
  /// What evaluation mode normalises x: [N,C,H,W] by.
  Moments evaluation_moments(const torch::Tensor& x) const;

  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;

 private:
  /// Whether own kernels compute on x: those for training have no tangents.
  bool has_kernels(const torch::Tensor& x) const;
  torch::Tensor evaluate(const torch::Tensor& x) const;
  /// By own kernels: forward(x), plus `shortcut` if defined, max(0, .) with is_relu.
  torch::Tensor fused(const torch::Tensor& x, const torch::Tensor& shortcut, bool is_relu);

  Statistics statistics_ = Statistics::kRunning;
  torch::Tensor running_mean_;
  torch::Tensor running_var_;
  torch::Tensor num_batches_tracked_;
};

}  // namespace batchplus
