#include "metrics/implicit_regularization.h"

#include <ATen/ATen.h>

#include "kernels/vector_kernels.h"
#include "metrics/measurer.h"
#include "metrics/quantity.h"

namespace batchplus {

double ImplicitRegularization::noise_factor() const {
  const auto k = static_cast<double>(inner_batches());
  const auto b = static_cast<double>(inner_batch);
  const double used = k * b / static_cast<double>(outer_batch);
  const double of_sgd = is_reshuffled ? 1 : (k - 1) * b / static_cast<double>(train_samples);
  return used * (of_sgd + coefficient * (k - 1) / k);
}

double ImplicitRegularization::noise_penalty(double gradient_variance) const {
  return learning_rate / 4 * noise_factor() * gradient_variance / static_cast<double>(inner_batch);
}

double ImplicitRegularization::drift_penalty(double squared_full_norm) const {
  return learning_rate / 4 * squared_full_norm;
}

std::vector<Quantity> measure_implicit_regularization(Measurer& measurer) {
  const auto& training = measurer.options().training;
  if (!training) {
    measurer.notes.push_back("implicit-regularization: " + measurer.options().why_no_training);
    return {};
  }
  const int64_t samples = measurer.gradient_samples();
  const SampleGradientNorms& norms = measurer.norms(samples);
  const double full = kernels::squared_norm(norms.gradient);
  const double loss = norms.losses.mean().item<double>();
  const double noise = training->noise_penalty(norms.variance());
  const double drift = training->drift_penalty(full);
  return {{"noise_penalty",
           noise,
           std::nullopt,
           {{"share", noise / loss},
            {"train_loss", loss},
            {"factor", training->noise_factor()},
            {"lr", training->learning_rate},
            {"coefficient", training->coefficient},
            {"inner_batches", training->inner_batches()},
            {"inner_batch", training->inner_batch},
            {"samples", samples},
            {"batchnorm", measurer.statistics_name()}}},
          {"drift_penalty",
           drift,
           std::nullopt,
           {{"share", drift / loss},
            {"train_loss", loss},
            {"lr", training->learning_rate},
            {"samples", samples},
            {"batchnorm", measurer.statistics_name()}}}};
}

}  // namespace batchplus
