#pragma once

#include "layers/batch_norm.h"

namespace batchplus {

/// fixed_batch_norm where x, weight or bias have tangents (tangent.h): value and tangent of the BatchNorm by
/// `moments`, plus `shortcut` if defined, max(0, .) with is_relu, on own kernels.
torch::Tensor dual_batch_norm(const torch::Tensor& x, const BatchNorm::Moments& moments,
                              const BatchNormParts& parts, const torch::Tensor& shortcut, bool is_relu);

}  // namespace batchplus
