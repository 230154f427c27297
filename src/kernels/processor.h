#pragma once

namespace batchplus {

/// Whether this processor runs the kernels of this folder: x86 with AVX2 and FMA.
bool has_own_kernels();

}  // namespace batchplus
