#include "objective/snapshot.h"

#include <ATen/ATen.h>

#include "kernels/vector_kernels.h"

namespace batchplus {
namespace {

/// The share of each batch in mu: its size over B. The remainder comes last.
std::vector<double> batch_weights(const OuterBatch& outer) {
  std::vector<double> weights;
  const auto share = [&](const Batch& batch) {
    return static_cast<double>(batch.size()) / static_cast<double>(outer.size());
  };
  for (int64_t t = 0; t < outer.inner_batches(); ++t) weights.push_back(share(outer.inner(t)));
  if (outer.has_remainder()) weights.push_back(share(outer.remainder()));
  return weights;
}

Batch batch_at(const OuterBatch& outer, size_t k) {
  const auto t = static_cast<int64_t>(k);
  return t < outer.inner_batches() ? outer.inner(t) : outer.remainder();
}

}  // namespace

Snapshot::Snapshot(GradientOracle& oracle, SnapshotOptions options)
    : oracle_(oracle), options_(options), mean_(oracle.make_vector()) {}

bool Snapshot::keeps(const SnapshotOptions& options, int64_t inner_batches, int64_t size) {
  if (options.gradients != SnapshotGradients::kAuto) return options.gradients == SnapshotGradients::kCache;
  return inner_batches * size <= options.memory_bytes / static_cast<int64_t>(sizeof(float));
}

void Snapshot::take(const OuterBatch& outer) {
  is_cached_ = keeps(options_, outer.inner_batches(), oracle_.parameters().size());
  if (is_cached_) {
    take_cached(outer);
  } else {
    take_recomputable(outer);
  }
}

void Snapshot::take_cached(const OuterBatch& outer) {
  const auto weights = batch_weights(outer);
  while (gradients_.size() < weights.size()) gradients_.push_back(oracle_.make_vector());
  for (size_t k = 0; k < weights.size(); ++k) oracle_.gradient(batch_at(outer, k), gradients_[k]);
  kernels::weighted_sum(
      {gradients_.begin(), gradients_.begin() + static_cast<std::ptrdiff_t>(weights.size())}, weights, mean_);
}

void Snapshot::take_recomputable(const OuterBatch& outer) {
  while (gradients_.size() < 2) gradients_.push_back(oracle_.make_vector());
  if (!point_.defined()) point_ = oracle_.make_vector();
  if (!sum_.defined()) sum_ = torch::empty_like(mean_, torch::kFloat64);
  point_.copy_(oracle_.parameters().values());
  sum_.zero_();
  const auto weights = batch_weights(outer);
  for (size_t k = 0; k < weights.size(); ++k) {
    const torch::Tensor& gradient = gradients_[k == 0 ? 0 : 1];
    oracle_.gradient(batch_at(outer, k), gradient);
    kernels::accumulate(sum_, weights[k], gradient);
  }
  mean_.copy_(sum_);
}

const torch::Tensor& Snapshot::inner_gradient(const OuterBatch& outer, int64_t t) {
  if (is_cached_ || t == 0) return gradients_[t];
  oracle_.replay_gradient_at(point_, outer.inner(t), gradients_[1]);
  return gradients_[1];
}

}  // namespace batchplus
