#pragma once

#include "core/torch.h"
#include "kernels/batch_norm.h"

namespace batchplus {

/// What a BatchNorm has besides x.
struct BatchNormParts {
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor running_mean;
  torch::Tensor running_var;
  double momentum = 0;
  double epsilon = 0;
};

/// A BatchNorm as y = scale * x + shift by channels: scale = weight / sqrt(variance + epsilon),
/// shift = bias - mean * scale.
class BatchNormCoefficients {
 public:
  BatchNormCoefficients(const torch::Tensor& mean, const torch::Tensor& variance,
                        const BatchNormParts& parts);
  /// As kept by tensor().
  explicit BatchNormCoefficients(torch::Tensor rows) : rows_(std::move(rows)) {}
  /// [4,C], for keeping.
  const torch::Tensor& tensor() const { return rows_; }

  const float* mean() const { return row(0); }
  const float* inverse_std() const { return row(1); }
  const float* scale() const { return row(2); }
  const float* shift() const { return row(3); }
  /// With `addend` where it is defined.
  kernels::ScaleShift scale_shift(const torch::Tensor& addend, bool is_relu) const;

 private:
  const float* row(int64_t i) const { return rows_.data_ptr<float>() + i * rows_.size(1); }

  torch::Tensor rows_;
};

/// Moves the running moments towards those of a batch of `pixels` pixels a channel.
void move_running(const BatchNormParts& parts, const torch::Tensor& mean, const torch::Tensor& variance,
                  int64_t pixels);

}  // namespace batchplus
