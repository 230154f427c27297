#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

/// Outputs of a tile in each direction: F(2x2, 3x3) or F(4x4, 3x3).
enum class WinogradTile { kTwo = 2, kFour = 4 };

/// y = x * w + bias for 3x3 filters, stride 1, a border of one zero. `bias` may be null.
void winograd_forward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w, const float* bias,
                      const Maps& y);

/// Filters of so many floats after the transform are multiplied by one thread a point instead of by all
/// threads, each for its own samples.
constexpr int64_t kLargeWinogradFilters = int64_t{1} << 19;

/// Into how many parts the sum over so many samples of the filters' gradients is cut, at most.
int64_t winograd_filter_parts(WinogradTile tile, int64_t samples, const ConstFilters& w);

/// The gradients from that of y.
void winograd_backward(WinogradTile tile, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients);

}  // namespace batchplus::kernels
