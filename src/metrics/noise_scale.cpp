#include "metrics/noise_scale.h"

#include <ATen/ATen.h>

#include "kernels/vector_kernels.h"

namespace batchplus {

double noise_scale(double gradient_variance, double squared_full_norm) {
  return gradient_variance / squared_full_norm;
}

std::vector<Quantity> measure_noise_scale(Measurer& measurer) {
  const int64_t samples = measurer.gradient_samples();
  const SampleGradientNorms& norms = measurer.norms(samples);
  const double full = kernels::squared_norm(norms.gradient);
  return {{"gradient_noise_scale",
           noise_scale(norms.variance(), full),
           std::nullopt,
           {{"samples", samples}, {"batchnorm", measurer.statistics_name()}}}};
}

}  // namespace batchplus
