#pragma once

#include "metrics/estimate.h"
#include "metrics/lanczos.h"

namespace batchplus {

/// tr A = E[z^T A z] over vectors z of random signs (Hutchinson 1990). One product a draw; at least two
/// draws. `like`: [d] gives size, type and device.
Estimate hutchinson_trace(const torch::Tensor& like, const SymmetricProduct& product, int64_t draws,
                          uint64_t seed);

}  // namespace batchplus
