#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "kernels/for_this_cpu.h"
#include "kernels/vector_kernels.h"

/// What the passes that move the weights share. For files that are compiled without floating-point
/// contraction (see CMakeLists.txt): each operation rounds once, so all instruction sets, any split over
/// threads, and the ATen fallbacks agree to the bit.
namespace batchplus::kernels {

/// Elements that are worth a thread.
inline constexpr int64_t kVectorGrain = 16384;

inline bool is_fused(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.is_contiguous();
}

/// Constants are rounded to float before they meet floats, in the fallbacks too.
inline double rounded(double constant) {
  return static_cast<double>(static_cast<float>(constant));
}

/// EstimateTerms in memory.
struct EstimatePointers {
  explicit EstimatePointers(const EstimateTerms& terms)
      : gradient(terms.gradient->data_ptr<float>()),
        control(terms.control == nullptr ? nullptr : terms.control->data_ptr<float>()),
        mean(terms.mean == nullptr ? nullptr : terms.mean->data_ptr<float>()),
        coefficient(static_cast<float>(terms.coefficient)) {}

  template <bool kHasControl>
  [[gnu::always_inline]] float at(int64_t i) const {
    if constexpr (kHasControl) return gradient[i] + coefficient * (control[i] - mean[i]);
    return gradient[i];
  }

  const float* gradient;
  const float* control;
  const float* mean;
  float coefficient;
};

/// The same by ATen, for other devices.
at::Tensor estimate_aten(const EstimateTerms& terms);

/// A word whose sign bit says that the value is not finite: an exponent of all ones carries into it.
[[gnu::always_inline]] inline uint32_t not_finite_word(float value) {
  constexpr uint32_t kExponentBits = 0x7f800000;
  constexpr uint32_t kExponentStep = 0x00800000;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & kExponentBits) + kExponentStep;
}

/// Calls pass(begin, end), which returns such words joined by or, for all of a vector. Whether every value
/// was finite.
template <class Pass>
[[nodiscard]] bool update_in_parallel(int64_t size, const Pass& pass) {
  constexpr uint32_t kSignBit = 0x80000000;
  std::atomic<uint32_t> not_finite{0};
  at::parallel_for(0, size, kVectorGrain, [&](int64_t begin, int64_t end) {
    not_finite |= for_this_cpu([&]() __attribute__((always_inline)) { return pass(begin, end); });
  });
  return (not_finite & kSignBit) == 0;
}

}  // namespace batchplus::kernels
