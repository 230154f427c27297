#pragma once

#include "kernels/convolution_pass.h"

namespace batchplus::kernels {

/// Convolution of maps with so few channels, images for instance, that copying patches would cost more than
/// multiplying them: pixels are read where they lie in a padded copy of one image. Every sum runs in the
/// order of unfolded_convolution.h's, so both give the same bits.
///
/// Whether it takes on such a convolution: 3x3 filters of padding 1, one channel or three.
bool takes_images(const ConvolutionGeometry& geometry, const ConvolutionInput& x);

///   y = x * w + bias, `bias` may be null
void image_forward(const ConvolutionGeometry& geometry, const ConvolutionInput& x, const ConstFilters& w,
                   const float* bias, const Maps& y);

/// The filters' gradient from that of y.
void image_filters_gradient(const ConvolutionGeometry& geometry, const ConvolutionInput& x,
                            const ConstMaps& y_gradient, const Filters& gradient);

}  // namespace batchplus::kernels
