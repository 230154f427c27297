#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

enum class ConvolutionAlgorithm { kUnfolded, kWinogradTwo, kWinogradFour };

/// The fastest algorithm for maps of this size, by measurement (docs/performance.md); without Winograd's
/// unless allowed.
ConvolutionAlgorithm choose_algorithm(const ConvolutionGeometry& geometry, int64_t in, int64_t height,
                                      int64_t width, bool may_use_winograd);

/// y = x * w + bias; `bias` may be null.
void convolution_forward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                         const ConvolutionInput& x, const ConstFilters& w, const float* bias, const Maps& y);

void convolution_backward(ConvolutionAlgorithm algorithm, const ConvolutionGeometry& geometry,
                          const ConvolutionInput& x, const ConstFilters& w, const ConstMaps& y_gradient,
                          const ConvolutionGradients& gradients);

}  // namespace batchplus::kernels
