#include "metrics/control_variate_probe.h"

#include <ATen/ATen.h>

#include <cmath>

namespace batchplus {

void ControlVariateProbe::add(int64_t t, const kernels::EstimateTerms& estimate,
                              const torch::Tensor& weights) {
  if (estimate.control == nullptr) return;
  if (t == 0) {
    if (!snapshot_.defined()) snapshot_ = torch::empty_like(weights);
    snapshot_.copy_(weights);
    return;
  }
  const kernels::DeviationSums step =
      kernels::deviation_sums(*estimate.gradient, *estimate.control, *estimate.mean);
  const double c = estimate.coefficient;
  sums_.deviations.gradient += step.gradient;
  sums_.deviations.product += step.product;
  sums_.deviations.control += step.control;
  sums_.estimate_squares += step.gradient + 2 * c * step.product + c * c * step.control;
  sums_.distances += std::sqrt(kernels::squared_distance(weights, snapshot_));
  ++sums_.steps;
}

std::optional<ControlVariateDiagnostics> ControlVariateProbe::take() {
  if (sums_.steps == 0) return std::nullopt;
  const ControlVariateDiagnostics diagnostics{
      .correlation =
          sums_.deviations.product / std::sqrt(sums_.deviations.gradient * sums_.deviations.control),
      .variance_ratio = sums_.estimate_squares / sums_.deviations.gradient,
      .optimal_coefficient = -sums_.deviations.product / sums_.deviations.control,
      .snapshot_distance = sums_.distances / static_cast<double>(sums_.steps),
      .inner_steps = sums_.steps};
  sums_ = {};
  return diagnostics;
}

}  // namespace batchplus
