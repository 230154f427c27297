#pragma once

namespace batchplus::kernels {

/// Whether this processor runs the kernels of this folder: x86 with AVX2 and FMA.
bool are_available();

}  // namespace batchplus::kernels
