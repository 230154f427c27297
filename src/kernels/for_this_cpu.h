#pragma once

#include "kernels/processor.h"

namespace batchplus::kernels {

#if defined(__x86_64__)
namespace detail {
template <class Body>
[[gnu::target("avx2")]] auto call_avx2(const Body& body) {
  return body();
}
}  // namespace detail
#endif

/// Runs `body` compiled for AVX2 where are_available(), and compiled for the baseline elsewhere. `body` is an
/// always_inline lambda, in a file compiled with -O3 and without floating-point contraction, so that both
/// give the same bits.
template <class Body>
auto for_this_cpu(const Body& body) {
#if defined(__x86_64__)
  if (are_available()) return detail::call_avx2(body);
#endif
  return body();
}

}  // namespace batchplus::kernels
