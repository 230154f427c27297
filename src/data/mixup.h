#pragma once

#include <cstdint>
#include <vector>

#include "core/random_stream.h"
#include "core/torch.h"

namespace batchplus {

/// Beta(alpha, alpha): in [0, 1], symmetric about 1/2. From the stream's uniform numbers by arithmetic in a
/// fixed order, so that every machine draws the same bits.
double draw_beta(double alpha, RandomStream& stream);

/// How mixup (Zhang et al. 2018) mixes the samples of an inner batch: x_i becomes
///   share x_i + (1 - share) x_{partner_i}
/// and its loss is mixed of those of both labels in the same way.
struct Mixing {
  /// lambda ~ Beta(alpha, alpha), one for the batch.
  double share = 1;
  /// A permutation of the batch.
  std::vector<int64_t> partners;
};

/// Depends on (seed, epoch, place) alone: the place in the epoch where the inner batch begins.
Mixing draw_mixing(double alpha, uint64_t seed, uint64_t epoch, uint64_t place, int64_t samples);

/// Mixes images: [N,C,H,W], each sample's numbers side by side in memory.
void mix(const Mixing& mixing, const torch::Tensor& images);

}  // namespace batchplus
