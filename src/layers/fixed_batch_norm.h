#pragma once

#include "layers/batch_norm_coefficients.h"
#include "layers/layer.h"

namespace batchplus {

/// A BatchNorm by moments that are held fixed, an affine map by channels, on own kernels: of x: [N,C,H,W]
/// with the channels side by side, plus `shortcut` if defined, max(0, .) with is_relu. `layer` has weight and
/// bias, and the watcher who is shown each sample's gradients with respect to them.
torch::Tensor fixed_batch_norm(const Layer& layer, const torch::Tensor& x, const BatchNormCoefficients& by,
                               const torch::Tensor& shortcut, bool is_relu);

}  // namespace batchplus
