#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

/// Convolution as matrix products: the patches of some output pixels, copied side by side, times the filters.
/// Filters of 1x1 read the maps where they are. For any geometry.
///   y = x * w + bias, `bias` may be null
void unfolded_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                      const float* bias, const Maps& y);

/// The gradients from that of y. The bits depend on the number of threads, which share the samples.
void unfolded_backward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients);

}  // namespace batchplus::kernels
