#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

/// Convolution as matrix products: the patches of some output pixels, copied side by side, times the filters.
/// Filters of 1x1 read the maps where they are. For any geometry.
///   y = x * w + bias, `bias` may be null
void unfolded_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                      const float* bias, const Maps& y);

/// Into how many parts the sum over so many samples of the filters' gradients is cut, at most: one where the
/// filters are large.
int64_t unfolded_filter_parts(int64_t samples, const ConstFilters& w);

/// The gradients from that of y.
void unfolded_backward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                       const ConstMaps& y_gradient, const ConvolutionGradients& gradients);

}  // namespace batchplus::kernels
