#pragma once

#include "layers/normalization.h"

namespace batchplus {

/// Normalises each sample by itself, in groups of channels: with the C/G channels and all pixels of a group,
///   x^ = (x - mean) / sqrt(variance + eps),  y = weight x^ + bias,  eps 1e-5
/// (Wu & He 2018). No sample depends on another, and training and evaluation are the same.
class GroupNorm : public NormalizationLayer {
 public:
  /// With groups_for(channels) groups.
  explicit GroupNorm(int64_t channels);
  torch::Tensor forward(const torch::Tensor& x) override;
  std::string describe() const override;

  /// G: the largest number of groups that divides the channels evenly, is at most 32, as in the paper, and
  /// leaves at least 4 channels to a group. Networks for CIFAR are narrow: 32 groups of 32 channels would
  /// have one map each and lose each map's mean, which is what the last average pool passes on.
  static int64_t groups_for(int64_t channels);
  int64_t groups() const { return groups_; }

  /// [N,C,H,W] as [N,G,C/G,H,W], without a copy.
  torch::Tensor grouped(const torch::Tensor& x) const;
  /// Of a group: [N,G,1,1,1].
  static torch::Tensor group_means(const torch::Tensor& groups);

  struct Normalized {
    /// x^ by groups: [N,G,C/G,H,W].
    torch::Tensor groups;
    /// 1 / sqrt(variance + eps): [N,G,1,1,1].
    torch::Tensor inverse_deviation;
  };
  /// By operations that libtorch differentiates in every order.
  Normalized normalize(const torch::Tensor& x) const;

  static constexpr double kEpsilon = 1e-5;

 private:
  int64_t groups_;
};

}  // namespace batchplus
