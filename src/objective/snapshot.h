#pragma once

#include <vector>

#include "objective/gradient_oracle.h"

namespace batchplus {

enum class SnapshotGradients { kAuto, kCache, kRecompute };

struct SnapshotOptions {
  SnapshotGradients gradients = SnapshotGradients::kAuto;
  /// kAuto keeps the K inner gradients (K d floats) while they fit in so many bytes.
  int64_t memory_bytes = int64_t{2} << 30;
};

/// The snapshot w of an outer batch: mu and the inner gradients g_t(w), which are kept or computed again.
/// Both ways give the same bits. Cost in gradient evaluations: K to take it (and the remainder's share), then
/// nothing (cached) or one for each t >= 1 (recomputed); g_0(w) is always kept.
class Snapshot {
 public:
  Snapshot(GradientOracle& oracle, SnapshotOptions options);

  /// Takes the snapshot at the present parameters.
  void take(const OuterBatch& outer);

  /// mu = (1/B) sum_{i in I} grad f_i(w): [d], summed in double whatever K is.
  const torch::Tensor& mean_gradient() const { return mean_; }

  /// g_t(w): [d], the mean over inner batch t. Valid until the next call.
  const torch::Tensor& inner_gradient(const OuterBatch& outer, int64_t t);

  bool is_cached() const { return is_cached_; }

  /// Whether K inner gradients of d floats are kept under these options.
  static bool keeps(const SnapshotOptions& options, int64_t inner_batches, int64_t size);

 private:
  void take_cached(const OuterBatch& outer);
  void take_recomputable(const OuterBatch& outer);

  GradientOracle& oracle_;
  SnapshotOptions options_;
  bool is_cached_ = false;
  torch::Tensor mean_;
  /// Cached: g_t(w) for each t, then the remainder's. Recomputed: g_0(w), then the one asked for last.
  std::vector<torch::Tensor> gradients_;
  torch::Tensor point_;
  torch::Tensor sum_;
};

}  // namespace batchplus
