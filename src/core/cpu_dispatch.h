#pragma once

namespace batchplus {

#if defined(__x86_64__)
namespace detail {
template <class Body>
[[gnu::target("avx2")]] auto call_avx2(const Body& body) {
  return body();
}
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2");
}  // namespace detail
#endif

/// Runs `body` compiled for AVX2 where the processor has it, and compiled for the baseline elsewhere. `body`
/// is an always_inline lambda, in a file compiled with -O3 and without floating-point contraction, so that
/// both give the same bits.
template <class Body>
auto for_this_cpu(const Body& body) {
#if defined(__x86_64__)
  if (detail::kHasAvx2) return detail::call_avx2(body);
#endif
  return body();
}

}  // namespace batchplus
