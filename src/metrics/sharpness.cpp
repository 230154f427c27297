#include "metrics/sharpness.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/random_stream.h"
#include "metrics/random_vectors.h"
#include "util/error.h"

namespace batchplus {
namespace {

/// (F(w + step) - F(w)) + (F(w - step) - F(w)).
double rise_both_ways(const ObjectiveFunction& objective, const torch::Tensor& step, double value_here) {
  const torch::Tensor& w = objective.parameters().values();
  return (objective.value_at(w + step) - value_here) + (objective.value_at(w - step) - value_here);
}

}  // namespace

Estimate gaussian_sharpness(const ObjectiveFunction& objective, double sigma, int64_t draws, uint64_t seed) {
  BATCHPLUS_CHECK(sigma > 0 && draws > 0, "perturbations are drawn, and are not zero");
  const RandomVectors random(seed, RandomVectors::Use::kSharpness, objective.parameters().values());
  const double value_here = objective.value();
  MeanOfDraws mean;
  for (int64_t i = 0; i < draws; ++i) {
    mean.add(rise_both_ways(objective, random.gaussian(i).mul_(std::sqrt(sigma)), value_here) / 2);
  }
  return mean.estimate();
}

DataSharpness data_sharpness(const ObjectiveFunction& objective, double eta, int64_t draws, uint64_t seed) {
  BATCHPLUS_CHECK(eta > 0 && draws > 0, "steps are drawn, and are not zero");
  const int64_t n = objective.samples();
  const auto use = static_cast<uint64_t>(RandomVectors::Use::kSharpness);
  const auto chosen =
      random_subset(n, std::min(draws, n), RandomStream(seed, RandomPurpose::kMeasurement, use));
  const double value_here = objective.value();
  MeanOfDraws value;
  MeanOfDraws second_order;
  MeanOfDraws difference;
  for (const int64_t i : chosen) {
    const torch::Tensor gradient = objective.sample_gradient(i);
    const double rise = rise_both_ways(objective, gradient * eta, value_here);
    const double curvature =
        (gradient * objective.hessian_product(gradient)).sum(torch::kFloat64).item<double>();
    value.add(rise);
    second_order.add(eta * eta * curvature);
    difference.add(rise - eta * eta * curvature);
  }
  return {value.estimate_out_of(n), second_order.estimate_out_of(n), difference.estimate_out_of(n)};
}

double data_sharpness_bound(double eta, double lambda, double mean_squared_norm) {
  return eta * eta * std::abs(lambda) * mean_squared_norm;
}

}  // namespace batchplus
