#include "metrics/control_variate_probe.h"

#include <ATen/ATen.h>

#include <cmath>

namespace batchplus {

void ControlVariateProbe::observe(int64_t t, const EstimateTerms& estimate, const torch::Tensor& weights) {
  if (estimate.control == nullptr) return;
  if (t == 0) {
    if (!snapshot_.defined()) snapshot_ = torch::empty_like(weights);
    snapshot_.copy_(weights);
    return;
  }
  const DeviationSums step = deviation_sums(*estimate.gradient, *estimate.control, *estimate.mean);
  const double c = estimate.coefficient;
  sums_.gradient += step.gradient;
  sums_.product += step.product;
  sums_.control += step.control;
  estimate_squares_ += step.gradient + 2 * c * step.product + c * c * step.control;
  distances_ += std::sqrt(squared_distance(weights, snapshot_));
  ++steps_;
}

std::optional<ControlVariateDiagnostics> ControlVariateProbe::take() {
  if (steps_ == 0) return std::nullopt;
  const ControlVariateDiagnostics diagnostics{
      .correlation = sums_.product / std::sqrt(sums_.gradient * sums_.control),
      .variance_ratio = estimate_squares_ / sums_.gradient,
      .optimal_coefficient = -sums_.product / sums_.control,
      .snapshot_distance = distances_ / static_cast<double>(steps_),
      .inner_steps = steps_};
  sums_ = {};
  estimate_squares_ = 0;
  distances_ = 0;
  steps_ = 0;
  return diagnostics;
}

}  // namespace batchplus
