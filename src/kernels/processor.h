#pragma once

#include <string>

namespace batchplus::kernels {

/// What code for particular processors is compiled for.
enum class InstructionSet {
  /// Every processor: own kernels are not available, libtorch computes instead.
  kBaseline,
  /// x86 with AVX2 and FMA.
  kAvx2,
  /// x86 with AVX-512 (F, CD, VL, DQ, BW).
  kAvx512,
};

/// The one that this process computes by: the best that the machine has, or the one below it that
/// $BATCHPLUS_CPU names (avx512, avx2, baseline). Throws Error where the machine has no such thing. Own
/// kernels give the same bits by kAvx2 and kAvx512.
InstructionSet instruction_set();

/// "avx2"
std::string name_of(InstructionSet set);

/// Whether own kernels run: instruction_set() is not the baseline. There are two ways to write code that
/// asks:
///   simd-inl.h      vectors by Highway, compiled for each instruction set but the baseline
///   for_this_cpu.h  plain loops, compiled for each of them, that give the same bits whichever it is
bool are_available();

}  // namespace batchplus::kernels
