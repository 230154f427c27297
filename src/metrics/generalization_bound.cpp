#include "metrics/generalization_bound.h"

#include <ATen/ATen.h>

#include <limits>

namespace batchplus {

namespace {

/// Of an even number of values, the mean of the two in the middle.
double middle_of(const torch::Tensor& values) {
  const torch::Tensor sorted = std::get<0>(values.to(torch::kDouble).sort());
  const int64_t n = sorted.numel();
  return (sorted[(n - 1) / 2] + sorted[n / 2]).item<double>() / 2;
}

}  // namespace

PlRatios pl_ratios(const torch::Tensor& losses, const torch::Tensor& squared_norms) {
  const torch::Tensor is_positive = losses > 0;
  const torch::Tensor ratios =
      squared_norms.masked_select(is_positive) / (2 * losses.masked_select(is_positive));
  if (ratios.numel() == 0) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, 0};
  }
  return {ratios.min().item<double>(), middle_of(ratios), ratios.numel()};
}

}  // namespace batchplus
