#pragma once

#include "metrics/measurer.h"
#include "metrics/quantity.h"

namespace batchplus {

/// The simple noise scale of McCandlish et al. 2018: with Sigma the covariance of the sample gradients,
///   B_noise = tr(Sigma) / ||grad F||^2 = (E_i||grad f_i||^2 - ||grad F||^2) / ||grad F||^2,
/// the batch size at which the noise of a mini-batch gradient is as long as the gradient. Smaller batches
/// step mostly along noise. Cost: none beside gradient-norms. Infinite at a stationary point.
double noise_scale(double gradient_variance, double squared_full_norm);

std::vector<Quantity> measure_noise_scale(Measurer& measurer);

}  // namespace batchplus
