#pragma once

#include "kernels/processor.h"

namespace batchplus::kernels {

#if defined(__x86_64__)
namespace detail {
template <class Body>
[[gnu::target("avx2")]] auto call_avx2(const Body& body) {
  return body();
}
template <class Body>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")]] auto call_avx512(
    const Body& body) {
  return body();
}
}  // namespace detail
#endif

/// Runs `body` compiled for instruction_set(). `body` is an always_inline lambda, in a file compiled with -O3
/// and without floating-point contraction, so that all of them give the same bits.
template <class Body>
auto for_this_cpu(const Body& body) {
#if defined(__x86_64__)
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return detail::call_avx512(body);
    case InstructionSet::kAvx2: return detail::call_avx2(body);
    case InstructionSet::kBaseline: break;
  }
#endif
  return body();
}

}  // namespace batchplus::kernels
