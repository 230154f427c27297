#pragma once

namespace batchplus::kernels {

/// Whether this processor runs the kernels of this folder: x86 with AVX2 and FMA. The one question that all
/// code for particular processors asks. There are two ways to write such code:
///   simd.h          a file of vectors of eight, whose functions the caller runs only where the answer is yes
///   for_this_cpu.h  plain loops, compiled for both answers, that give the same bits either way
bool are_available();

}  // namespace batchplus::kernels
