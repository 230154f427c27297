#pragma once

#include <cstdint>

namespace batchplus::kernels {

// What PyTorch's uniform_ and normal_ do with uniform numbers, with the same bits on every machine. PyTorch's
// own depend on the instructions that it was compiled for.

/// Turns numbers that are uniform in [0, 1) into numbers that are uniform in [from, to): PyTorch's bits where
/// it fuses multiply and add.
void scale_uniform(float* values, int64_t size, float from, float to);

/// Turns numbers u that are uniform in [0, 1) into normal ones of mean 0, in blocks of 16 as PyTorch's
/// normal_ does (Box and Muller): x_j = deviation sqrt(-2 log(1 - u_j)) cos(2 pi u_{j+8}), and sin for
/// x_{j+8}. PyTorch's within a rounding or two. `size` is at least 16. The last 16 are made of `last` where
/// size is not a multiple of 16.
void uniform_to_normal(float* values, int64_t size, const float* last, double deviation);

}  // namespace batchplus::kernels
