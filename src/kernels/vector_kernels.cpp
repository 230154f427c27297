#include "kernels/vector_kernels.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/for_this_cpu.h"
#include "kernels/update_pass.h"
#include "util/error.h"

namespace batchplus::kernels {
namespace {

constexpr int64_t kGrain = kVectorGrain;
constexpr int64_t kBlock = 1024;

struct UpdatePointers {
  float* w;
  float* m;
  EstimatePointers estimate;
  float learning_rate;
  float momentum;
  float weight_decay;
};

/// Returns a word whose sign bit says that some new w is not finite.
template <UpdateKind kKind, bool kHasControl>
[[gnu::always_inline]] inline uint32_t update_range(const UpdatePointers& p, int64_t begin, int64_t end) {
  float* __restrict w = p.w;
  float* __restrict m = p.m;
  uint32_t not_finite = 0;
  for (int64_t i = begin; i < end; ++i) {
    const float v = p.estimate.at<kHasControl>(i) + p.weight_decay * w[i];
    float step = v;
    if constexpr (kKind != UpdateKind::kPlain) {
      const float buffer = p.momentum * m[i] + v;
      m[i] = buffer;
      step = kKind == UpdateKind::kHeavyBall ? buffer : v + p.momentum * buffer;
    }
    const float moved = w[i] - p.learning_rate * step;
    w[i] = moved;
    not_finite |= not_finite_word(moved);
  }
  return not_finite;
}

[[gnu::always_inline]] inline void sum_range(const float* const* vectors, const double* weights, size_t count,
                                             float* out, int64_t begin, int64_t end) {
  std::array<double, kBlock> sum;
  for (int64_t block = begin; block < end; block += kBlock) {
    const int64_t size = std::min(kBlock, end - block);
    std::fill_n(sum.begin(), size, 0.0);
    for (size_t k = 0; k < count; ++k) {
      const float* vector = vectors[k] + block;
      for (int64_t i = 0; i < size; ++i) sum[i] += weights[k] * static_cast<double>(vector[i]);
    }
    for (int64_t i = 0; i < size; ++i) out[block + i] = static_cast<float>(sum[i]);
  }
}

[[gnu::always_inline]] inline void accumulate_range(double* sum, double weight, const float* vector,
                                                    int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) sum[i] += weight * static_cast<double>(vector[i]);
}

[[gnu::always_inline]] inline void displace_range(const float* w, float scale, const float* direction,
                                                  float* out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) out[i] = w[i] + scale * direction[i];
}

[[gnu::always_inline]] inline void move_range(float* average, float decay, float rest, const float* vector,
                                              int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) average[i] = decay * average[i] + rest * vector[i];
}

/// The sum of term(i) over a range, as eight interleaved partial sums, so that the order of additions is
/// fixed and still vectorises.
template <class Term>
[[gnu::always_inline]] inline double sum_terms(int64_t begin, int64_t end, const Term& term) {
  std::array<double, 8> sum{};
  int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sum[lane] += term(i + lane);
  }
  for (int64_t lane = 0; i < end; ++i, ++lane) sum[lane] += term(i);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// The sum of term(i) for i < size, in chunks that do not depend on the number of threads.
template <class Term>
double sum_in_chunks(int64_t size, const Term& term) {
  const int64_t chunks = (size + kGrain - 1) / kGrain;
  std::vector<double> partial(static_cast<size_t>(chunks));
  at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kGrain;
      const int64_t last = std::min(first + kGrain, size);
      partial[chunk] =
          for_this_cpu([&]() __attribute__((always_inline)) { return sum_terms(first, last, term); });
    }
  });
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

template <UpdateKind kKind, bool kHasControl>
bool update_all(const UpdatePointers& pointers, int64_t size) {
  return update_in_parallel(
      size, [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
        return update_range<kKind, kHasControl>(pointers, begin, end);
      });
}

template <UpdateKind kKind>
bool update_all(const UpdatePointers& pointers, int64_t size) {
  return pointers.estimate.control != nullptr ? update_all<kKind, true>(pointers, size)
                                              : update_all<kKind, false>(pointers, size);
}

}  // namespace

at::Tensor estimate_aten(const EstimateTerms& terms) {
  if (terms.control == nullptr) return *terms.gradient;
  return *terms.gradient + (*terms.control - *terms.mean) * rounded(terms.coefficient);
}

bool fused_update(const at::Tensor& w, const at::Tensor& momentum_buffer, const EstimateTerms& estimate,
                  const UpdateConstants& constants) {
  if (!is_fused(w)) return fused_update_aten(w, momentum_buffer, estimate, constants);
  const UpdatePointers pointers{
      .w = w.data_ptr<float>(),
      .m = constants.kind == UpdateKind::kPlain ? nullptr : momentum_buffer.data_ptr<float>(),
      .estimate = EstimatePointers(estimate),
      .learning_rate = static_cast<float>(constants.learning_rate),
      .momentum = static_cast<float>(constants.momentum),
      .weight_decay = static_cast<float>(constants.weight_decay),
  };
  switch (constants.kind) {
    case UpdateKind::kPlain: return update_all<UpdateKind::kPlain>(pointers, w.numel());
    case UpdateKind::kHeavyBall: return update_all<UpdateKind::kHeavyBall>(pointers, w.numel());
    case UpdateKind::kNesterov: return update_all<UpdateKind::kNesterov>(pointers, w.numel());
  }
  BATCHPLUS_CHECK(false, "the switch covers every kind");
}

bool fused_update_aten(const at::Tensor& w, const at::Tensor& momentum_buffer, const EstimateTerms& estimate,
                       const UpdateConstants& constants) {
  const at::NoGradGuard no_grad;
  // Products are rounded before they are added, as in the fused pass.
  const at::Tensor v = estimate_aten(estimate) + w * rounded(constants.weight_decay);
  at::Tensor step = v;
  if (constants.kind != UpdateKind::kPlain) {
    momentum_buffer.mul_(rounded(constants.momentum)).add_(v);
    step = constants.kind == UpdateKind::kHeavyBall ? momentum_buffer
                                                    : v + momentum_buffer * rounded(constants.momentum);
  }
  w.sub_(step * rounded(constants.learning_rate));
  return w.isfinite().all().item<bool>();
}

void weighted_sum(const std::vector<at::Tensor>& vectors, const std::vector<double>& weights,
                  const at::Tensor& mean) {
  BATCHPLUS_CHECK(vectors.size() == weights.size(), "one weight for each vector");
  if (!is_fused(mean)) {
    const at::Tensor sum = at::zeros_like(mean, at::kDouble);
    for (size_t k = 0; k < vectors.size(); ++k) accumulate(sum, weights[k], vectors[k]);
    mean.copy_(sum);
    return;
  }
  std::vector<const float*> pointers;
  for (const auto& vector : vectors) pointers.push_back(vector.data_ptr<float>());
  float* out = mean.data_ptr<float>();
  at::parallel_for(0, mean.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      sum_range(pointers.data(), weights.data(), pointers.size(), out, begin, end);
    });
  });
}

void accumulate(const at::Tensor& sum, double weight, const at::Tensor& vector) {
  if (!is_fused(sum)) {
    sum.add_(vector.to(at::kDouble) * weight);
    return;
  }
  double* sums = sum.data_ptr<double>();
  const float* values = vector.data_ptr<float>();
  at::parallel_for(0, sum.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]()
                     __attribute__((always_inline)) { accumulate_range(sums, weight, values, begin, end); });
  });
}

void displace(const at::Tensor& w, double scale, const at::Tensor& direction, const at::Tensor& out) {
  const auto scale_float = static_cast<float>(scale);
  if (!is_fused(w)) {
    out.copy_(w + direction * static_cast<double>(scale_float));
    return;
  }
  const float* from = w.data_ptr<float>();
  const float* along = direction.data_ptr<float>();
  float* to = out.data_ptr<float>();
  at::parallel_for(0, w.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      displace_range(from, scale_float, along, to, begin, end);
    });
  });
}

void move_towards(const at::Tensor& average, double decay, const at::Tensor& vector) {
  const auto kept = static_cast<float>(decay);
  const auto rest = static_cast<float>(1 - decay);
  if (!is_fused(average) || !vector.is_contiguous()) {
    const at::NoGradGuard no_grad;
    average.mul_(kept).add_(vector * rest);
    return;
  }
  float* to = average.data_ptr<float>();
  const float* from = vector.data_ptr<float>();
  at::parallel_for(0, average.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) { move_range(to, kept, rest, from, begin, end); });
  });
}

double squared_norm(const at::Tensor& vector) {
  if (!is_fused(vector)) return vector.to(at::kDouble).square().sum().item<double>();
  const float* values = vector.data_ptr<float>();
  return sum_in_chunks(
      vector.numel(), [=](int64_t i) __attribute__((always_inline)) {
        const double value = values[i];
        return value * value;
      });
}

double squared_distance(const at::Tensor& a, const at::Tensor& b) {
  if (!is_fused(a)) return (a.to(at::kDouble) - b).square().sum().item<double>();
  const float* left = a.data_ptr<float>();
  const float* right = b.data_ptr<float>();
  return sum_in_chunks(
      a.numel(), [=](int64_t i) __attribute__((always_inline)) {
        const double difference = static_cast<double>(left[i]) - static_cast<double>(right[i]);
        return difference * difference;
      });
}

DeviationSums deviation_sums(const at::Tensor& gradient, const at::Tensor& control, const at::Tensor& mean) {
  if (!is_fused(gradient)) {
    const at::Tensor a = gradient.to(at::kDouble) - mean;
    const at::Tensor z = control.to(at::kDouble) - mean;
    return {a.square().sum().item<double>(), (a * z).sum().item<double>(), z.square().sum().item<double>()};
  }
  const float* g = gradient.data_ptr<float>();
  const float* c = control.data_ptr<float>();
  const float* m = mean.data_ptr<float>();
  const auto deviation = [m](const float* v, int64_t i) __attribute__((always_inline)) {
    return static_cast<double>(v[i]) - static_cast<double>(m[i]);
  };
  const auto sum_products = [&](const float* a, const float* b) {
    return sum_in_chunks(
        gradient.numel(), [=](int64_t i)
                              __attribute__((always_inline)) { return deviation(a, i) * deviation(b, i); });
  };
  return {sum_products(g, g), sum_products(g, c), sum_products(c, c)};
}

}  // namespace batchplus::kernels
