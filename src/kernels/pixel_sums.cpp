#include "kernels/pixel_sums.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/for_this_cpu.h"

namespace batchplus::kernels {
namespace {

[[gnu::always_inline]] inline void add_pixels(const ConstMaps& maps, int64_t n, float* __restrict sums) {
  const float* __restrict g = maps.sample(n);
  for (int64_t t = 0; t < maps.pixels(); ++t, g += maps.stride) {
    for (int64_t c = 0; c < maps.channels; ++c) sums[c] += g[c];
  }
}

[[gnu::always_inline]] inline void add_pixels(const ConstMaps& inputs, const ConstMaps& gradients, int64_t n,
                                              const float* __restrict mean, float* __restrict slopes,
                                              float* __restrict sums) {
  const float* __restrict x = inputs.sample(n);
  const float* __restrict g = gradients.sample(n);
  for (int64_t t = 0; t < inputs.pixels(); ++t, x += inputs.stride, g += gradients.stride) {
    for (int64_t c = 0; c < inputs.channels; ++c) {
      slopes[c] += g[c] * (x[c] - mean[c]);
      sums[c] += g[c];
    }
  }
}

}  // namespace

void sum_pixels(const ConstMaps& g, float* sums) {
  std::fill_n(sums, g.samples * g.channels, 0.0F);
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t n = begin; n < end; ++n) {
        add_pixels(g, n, sums + n * g.channels);
      }
    });
  });
}

void sum_pixels(const ConstMaps& x, const ConstMaps& g, const float* mean, float* slopes, float* sums) {
  std::fill_n(slopes, g.samples * g.channels, 0.0F);
  std::fill_n(sums, g.samples * g.channels, 0.0F);
  at::parallel_for(0, g.samples, 1, [&](int64_t begin, int64_t end) {
    for_this_cpu([&]() __attribute__((always_inline)) {
      for (int64_t n = begin; n < end; ++n) {
        add_pixels(x, g, n, mean, slopes + n * g.channels, sums + n * g.channels);
      }
    });
  });
}

}  // namespace batchplus::kernels
