#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

/// Outputs of a tile in each direction: F(2x2, 3x3) or F(4x4, 3x3).
enum class WinogradTile { kTwo = 2, kFour = 4 };

/// y = x * w + bias for 3x3 filters, stride 1, a border of one zero. `bias` may be null.
void winograd_forward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w, const float* bias,
                      const Maps& y);

/// The gradients from that of y. The bits depend on the number of threads, which share the samples or the
/// points of the transform.
void winograd_backward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients);

}  // namespace batchplus::kernels
