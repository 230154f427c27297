#include "kernels/adam.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "kernels/update_pass.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

/// By squaring, so that every machine has the same bits, which no C library's pow promises.
double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

/// The constants of one step as the passes meet them.
struct StepConstants {
  explicit StepConstants(const AdamConstants& c)
      : beta1(static_cast<float>(c.beta1)),
        rest1(static_cast<float>(1 - c.beta1)),
        beta2(static_cast<float>(c.beta2)),
        rest2(static_cast<float>(1 - c.beta2)),
        epsilon(static_cast<float>(c.epsilon)),
        step_size(static_cast<float>(c.learning_rate / (1 - power(c.beta1, c.step)))),
        root2(static_cast<float>(std::sqrt(1 - power(c.beta2, c.step)))),
        decay(static_cast<float>(c.weight_decay)),
        shrinking(static_cast<float>(1 - c.learning_rate * c.weight_decay)) {
    BATCHPLUS_CHECK(c.step >= 1, "steps are counted from 1");
  }

  float beta1;
  float rest1;
  float beta2;
  float rest2;
  float epsilon;
  /// lr / (1 - beta1^t).
  float step_size;
  /// sqrt(1 - beta2^t).
  float root2;
  float decay;
  /// 1 - lr decay.
  float shrinking;
};

struct AdamPointers {
  float* w;
  float* m;
  float* s;
  EstimatePointers estimate;
};

template <bool kIsDecoupled, bool kHasControl>
[[gnu::always_inline]] inline uint32_t adam_range(const AdamPointers& p, const StepConstants& c,
                                                  int64_t begin, int64_t end) {
  float* __restrict w = p.w;
  float* __restrict m = p.m;
  float* __restrict s = p.s;
  uint32_t not_finite = 0;
  for (int64_t i = begin; i < end; ++i) {
    float v = p.estimate.at<kHasControl>(i);
    float from = w[i];
    if constexpr (kIsDecoupled) {
      from = from * c.shrinking;
    } else {
      v = v + c.decay * from;
    }
    const float first = c.beta1 * m[i] + c.rest1 * v;
    const float second = c.beta2 * s[i] + c.rest2 * (v * v);
    m[i] = first;
    s[i] = second;
    const float moved = from - c.step_size * first / (std::sqrt(second) / c.root2 + c.epsilon);
    w[i] = moved;
    not_finite |= not_finite_word(moved);
  }
  return not_finite;
}

template <bool kIsDecoupled, bool kHasControl>
bool adam_all(const AdamPointers& pointers, const StepConstants& constants, int64_t size) {
  return update_in_parallel(
      size, [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
        return adam_range<kIsDecoupled, kHasControl>(pointers, constants, begin, end);
      });
}

}  // namespace

bool adam_update(const at::Tensor& w, const Moments& moments, const EstimateTerms& estimate,
                 const AdamConstants& constants) {
  if (!is_fused(w)) return adam_update_aten(w, moments, estimate, constants);
  const AdamPointers pointers{.w = w.data_ptr<float>(),
                              .m = moments.first.data_ptr<float>(),
                              .s = moments.second.data_ptr<float>(),
                              .estimate = EstimatePointers(estimate)};
  const StepConstants step(constants);
  const bool has_control = estimate.control != nullptr;
  if (constants.is_decoupled) {
    return has_control ? adam_all<true, true>(pointers, step, w.numel())
                       : adam_all<true, false>(pointers, step, w.numel());
  }
  return has_control ? adam_all<false, true>(pointers, step, w.numel())
                     : adam_all<false, false>(pointers, step, w.numel());
}

bool adam_update_aten(const at::Tensor& w, const Moments& moments, const EstimateTerms& estimate,
                      const AdamConstants& constants) {
  const at::NoGradGuard no_grad;
  const StepConstants c(constants);
  at::Tensor v = estimate_aten(estimate);
  if (constants.is_decoupled) {
    w.mul_(c.shrinking);
  } else {
    v = v + w * c.decay;
  }
  moments.first.mul_(c.beta1).add_(v * c.rest1);
  moments.second.mul_(c.beta2).add_(v * v * c.rest2);
  w.sub_(moments.first * c.step_size /
         (moments.second.sqrt() / at::scalar_tensor(c.root2, w.options()) + c.epsilon));
  return w.isfinite().all().item<bool>();
}

}  // namespace batchplus::kernels
