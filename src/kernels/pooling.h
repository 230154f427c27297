#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

/// The largest of each window of side x side: y: [N,height/side,width/side,channels] (rounded down). `places`
/// gets the window's pixel it came from, one byte for each output.
void max_pool_forward(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places);
/// y from the same places of other maps, for tangents.
void max_pool_tangent(const ConstMaps& x, int64_t side, const Maps& y, uint8_t* places);
void max_pool_backward(const ConstMaps& y_gradient, int64_t side, const uint8_t* places,
                       const Maps& x_gradient);

/// The mean of each window; y as above.
void average_pool_forward(const ConstMaps& x, int64_t side, const Maps& y);
void average_pool_backward(const ConstMaps& y_gradient, int64_t side, const Maps& x_gradient);

}  // namespace batchplus::kernels
