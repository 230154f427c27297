#pragma once

#include "kernels/maps.h"

namespace batchplus::kernels {

// Sums over the pixels of each sample, by channels: [samples,channels]. The same bits on every processor.

/// sums[n][c] = sum_t g[n][t][c].
void sum_pixels(const ConstMaps& g, float* sums);

/// slopes[n][c] = sum_t g[n][t][c] (x[n][t][c] - mean[c]), and `sums` as above.
void sum_pixels(const ConstMaps& x, const ConstMaps& g, const float* mean, float* slopes, float* sums);

}  // namespace batchplus::kernels
