#pragma once

#include "metrics/estimate.h"
#include "metrics/objective_function.h"

namespace batchplus {

/// S_sigma(w) = E[F(w + gamma) - F(w)], gamma ~ N(0, sigma I): sigma is the variance of each element. Draws
/// come in pairs gamma and -gamma, whose mean is free of the slope. Costs one forward pass and two more a
/// draw.
Estimate gaussian_sharpness(const ObjectiveFunction& objective, double sigma, int64_t draws, uint64_t seed);

/// Sharpness along the samples' own gradients.
struct DataSharpness {
  /// S_phi(w) = E_xi[F(w - eta grad f_xi) - F(w)] + E_xi[F(w + eta grad f_xi) - F(w)].
  Estimate value;
  /// eta^2 E_xi[grad f_xi^T H grad f_xi], from the same draws.
  Estimate second_order;
  /// Of the value from its second-order form, draw by draw.
  Estimate difference;
};

/// Draws samples without replacement. Costs one forward pass, and a draw two more, a sample gradient and a
/// Hessian product.
DataSharpness data_sharpness(const ObjectiveFunction& objective, double eta, int64_t draws, uint64_t seed);

/// The paper's bound on S_phi: eta^2 |lambda| E_i||grad f_i||^2, with lambda the Hessian's eigenvalue of
/// largest magnitude.
double data_sharpness_bound(double eta, double lambda, double mean_squared_norm);

}  // namespace batchplus
