#include "metrics/generalization_bound.h"

#include <ATen/ATen.h>

#include <limits>

namespace batchplus {

PlRatios pl_ratios(const torch::Tensor& losses, const torch::Tensor& squared_norms) {
  const torch::Tensor is_positive = losses > 0;
  const torch::Tensor ratios =
      squared_norms.masked_select(is_positive) / (2 * losses.masked_select(is_positive));
  if (ratios.numel() == 0) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, 0};
  }
  return {ratios.min().item<double>(), ratios.median().item<double>(), ratios.numel()};
}

}  // namespace batchplus
