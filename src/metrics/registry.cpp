#include "metrics/registry.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/vector_kernels.h"
#include "metrics/control_variate_probe.h"
#include "metrics/generalization_bound.h"
#include "metrics/hessian_trace.h"
#include "metrics/implicit_regularization.h"
#include "metrics/noise_scale.h"
#include "metrics/sharpness.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

Quantity sampled(std::string name, const Estimate& estimate, int64_t samples) {
  return {std::move(name),
          estimate.value,
          estimate.standard_error,
          {{"draws", estimate.draws}, {"samples", samples}, {"batchnorm", std::string("eval")}}};
}

std::vector<Quantity> measure_gradient_norms(Measurer& measurer) {
  const int64_t samples = measurer.gradient_samples();
  const SampleGradientNorms& norms = measurer.norms(samples);
  const double mean = norms.mean_squared_norm();
  const double full = kernels::squared_norm(norms.gradient);
  const std::vector<std::pair<std::string, Quantity::Detail>> details = {
      {"samples", samples}, {"batchnorm", measurer.statistics_name()}};
  Quantity mean_quantity{"mean_squared_gradient_norm", mean, std::nullopt, details};
  if (samples < measurer.train_samples()) {
    MeanOfDraws draws;
    const double* squared = norms.squared_norms.data_ptr<double>();
    std::for_each(squared, squared + samples, [&](double draw) { draws.add(draw); });
    mean_quantity.standard_error = draws.estimate_out_of(measurer.train_samples()).standard_error;
  }
  return {mean_quantity,
          {"squared_full_gradient_norm", full, std::nullopt, details},
          {"gradient_variance", norms.variance(), std::nullopt, details}};
}

std::vector<Quantity> measure_gaps(Measurer& measurer) {
  const Evaluation& train = measurer.train_evaluation();
  const Evaluation& test = measurer.test_evaluation();
  return {
      {"loss_gap",
       test.loss - train.loss,
       std::nullopt,
       {{"train_loss", train.loss}, {"test_loss", test.loss}, {"samples", train.samples}}},
      {"accuracy_gap",
       train.accuracy - test.accuracy,
       std::nullopt,
       {{"train_accuracy", train.accuracy}, {"test_accuracy", test.accuracy}, {"samples", train.samples}}}};
}

Quantity top_eigenvalue(Measurer& measurer) {
  const int64_t samples = measurer.curvature_samples();
  const EigenvalueEstimate& estimate = measurer.eigenvalues(samples);
  Quantity top{"hessian_top", estimate.top.front().value, std::nullopt, {}};
  std::vector<double> values;
  std::vector<double> bounds;
  for (const Eigenvalue& eigenvalue : estimate.top) {
    values.push_back(eigenvalue.value);
    bounds.push_back(eigenvalue.error_bound);
  }
  top.details = {{"error_bound", bounds.front()},
                 {"products", estimate.products},
                 {"is_converged", estimate.is_converged},
                 {"samples", samples},
                 {"batchnorm", std::string("eval")}};
  if (values.size() > 1) {
    top.details.emplace_back("values", values);
    top.details.emplace_back("error_bounds", bounds);
  }
  return top;
}

std::vector<Quantity> measure_hessian(Measurer& measurer) {
  const int64_t samples = measurer.curvature_samples();
  const Quantity top = top_eigenvalue(measurer);
  const int64_t draws = measurer.options().trace_draws;
  const ObjectiveFunction f = measurer.objective(samples, static_cast<double>(draws), "trace");
  const Estimate trace = hutchinson_trace(
      f.parameters().values(), [&](const torch::Tensor& v) { return f.hessian_product(v); }, draws,
      measurer.options().seed);
  return {top, sampled("hessian_trace", trace, samples)};
}

/// The chain S_phi ~ second order <= bound, as it turned out. The second relation holds for every single draw
/// if the eigenvalue is the largest; the first only where eta is small enough for higher orders not to count.
std::string chain_verdict(const DataSharpness& sharpness, double bound) {
  constexpr double kClose = 0.1;
  const double second_order = sharpness.second_order.value;
  const bool is_close = std::abs(sharpness.difference.value) <= kClose * std::abs(second_order);
  return fmt::format("S_phi {:.4g} ~ second order {:.4g}: {}; second order <= bound {:.4g}: {}",
                     sharpness.value.value, second_order, is_close ? "yes" : "no, more than 10 % apart",
                     bound, second_order <= bound ? "yes" : "no");
}

/// Why S_phi is not a number, where it is none.
void note_infinite_sharpness(Measurer& measurer, double value) {
  if (std::isfinite(value)) return;
  measurer.notes.push_back(
      fmt::format("sharpness_data is not finite: steps of sharpness_eta {} lead where the loss is infinite "
                  "or NaN; lower it",
                  format_number(measurer.options().eta)));
}

std::vector<Quantity> measure_sharpness(Measurer& measurer) {
  const MeasureOptions& options = measurer.options();
  const int64_t samples = measurer.curvature_samples();
  const auto draws = static_cast<double>(options.sharpness_draws);
  // Each draw passes the samples twice for the values and once for the product.
  const ObjectiveFunction gaussian_f = measurer.objective(samples, 1 + 2 * draws, "sharpness (gaussian)");
  const Estimate gaussian =
      gaussian_sharpness(gaussian_f, options.sigma, options.sharpness_draws, options.seed);
  const ObjectiveFunction f = measurer.objective(samples, 1 + 3 * draws, "sharpness (data)");
  const DataSharpness data = data_sharpness(f, options.eta, options.sharpness_draws, options.seed);
  note_infinite_sharpness(measurer, data.value.value);
  const EigenvalueEstimate& top = measurer.eigenvalues(samples);
  // Sharpness is that of F in evaluation mode, whatever the gradient norms are measured with.
  const double mean = measurer.norms(samples, BatchNorm::Statistics::kRunning).mean_squared_norm();
  const double bound = data_sharpness_bound(options.eta, top.top.front().value, mean);

  Quantity gaussian_quantity = sampled("sharpness_gaussian", gaussian, samples);
  gaussian_quantity.details.emplace_back("sigma", options.sigma);
  Quantity value = sampled("sharpness_data", data.value, samples);
  value.details.emplace_back("eta", options.eta);
  Quantity second_order = sampled("sharpness_data_second_order", data.second_order, samples);
  second_order.details.emplace_back("difference", data.difference.value);
  second_order.details.emplace_back("difference_standard_error", data.difference.standard_error);
  const Quantity bound_quantity{
      "sharpness_data_bound",
      bound,
      std::nullopt,
      {{"error_bound", data_sharpness_bound(options.eta, top.top.front().error_bound, mean)},
       {"hessian_top", top.top.front().value},
       {"mean_squared_gradient_norm", mean},
       {"samples", samples},
       {"batchnorm", std::string("eval")},
       {"chain", chain_verdict(data, bound)}}};
  return {gaussian_quantity, value, second_order, bound_quantity};
}

std::vector<Quantity> measure_bound(Measurer& measurer) {
  const int64_t samples = measurer.gradient_samples();
  const SampleGradientNorms& norms = measurer.norms(samples);
  const PlRatios ratios = pl_ratios(norms.losses, norms.squared_norms);
  const auto& given = measurer.options().pl_constant;
  const GeneralizationBound bound{given.value_or(ratios.least), norms.mean_squared_norm(),
                                  kernels::squared_norm(norms.gradient)};
  const double gap = measurer.test_evaluation().loss - measurer.train_evaluation().loss;
  return {{"bound_terms",
           bound.value(),
           std::nullopt,
           {{"mean_squared_gradient_norm_term", bound.sample_term()},
            {"full_gradient_norm_term", bound.full_gradient_term()},
            {"mu", bound.mu},
            {"mu_source", std::string(given ? "given" : "least ||grad f_i||^2 / (2 f_i)")},
            {"least_pl_ratio", ratios.least},
            {"median_pl_ratio", ratios.median},
            {"measured_gap", std::abs(gap)},
            {"samples", samples},
            {"batchnorm", measurer.statistics_name()}}}};
}

}  // namespace

const std::vector<MetricGroup>& metric_groups() {
  static const std::vector<MetricGroup> groups = {
      {.name = "gradient-norms",
       .help = "E_i||grad f_i||^2, ||grad F||^2 and the variance of the gradients",
       .quantities = {"mean_squared_gradient_norm", "squared_full_gradient_norm", "gradient_variance"},
       .needs = {.norms = true},
       .measure = measure_gradient_norms},
      {.name = "noise-scale",
       .help = "the batch size at which the gradient's noise is as long as the gradient",
       .quantities = {"gradient_noise_scale"},
       .needs = {.norms = true},
       .measure = measure_noise_scale},
      {.name = "gaps",
       .help = "training and test loss and accuracy, and how far they are apart",
       .quantities = {"loss_gap", "accuracy_gap"},
       .measure = measure_gaps},
      {.name = "hessian",
       .help = "the Hessian's largest eigenvalues and its trace",
       .quantities = {"hessian_top", "hessian_trace"},
       .needs = {.eigenvalues = true},
       .measure = measure_hessian},
      {.name = "sharpness",
       .help = "S_sigma, S_phi, its second-order form and its bound",
       .quantities = {"sharpness_gaussian", "sharpness_data", "sharpness_data_second_order",
                      "sharpness_data_bound"},
       .needs = {.eigenvalues = true},
       .measure = measure_sharpness},
      {.name = "bound",
       .help = "the terms of the generalisation bound beside the measured gap",
       .quantities = {"bound_terms"},
       .needs = {.norms = true},
       .measure = measure_bound},
      {.name = kImplicitRegularizationGroup,
       .help = "how strongly training itself penalises gradients, and their noise (docs/theory.md)",
       .quantities = {"noise_penalty", "drift_penalty"},
       .needs = {.norms = true},
       .measure = measure_implicit_regularization},
      {.name = kControlVariateGroup,
       .help = "how good the control variate is, from the gradients of training",
       .quantities = {"control_variate_correlation", "control_variate_variance_ratio",
                      "control_variate_optimal_coefficient", "snapshot_distance"},
       .measure = nullptr},
  };
  return groups;
}

std::vector<std::string> parse_metric_groups(const std::string& text, MetricUse use,
                                             const std::string& where) {
  std::vector<std::string> names;
  for (const MetricGroup& group : metric_groups()) {
    if (group.measure != nullptr || use == MetricUse::kTrain) names.push_back(group.name);
  }
  if (text == "all") return names;
  std::vector<std::string> chosen;
  if (text.empty()) return chosen;
  for (const std::string& name : split(text, ',')) {
    if (name == "all")
      throw Error("'all' stands alone", {where, text, "leave the others out, or leave it out"});
    if (name.empty()) throw Error("a group of quantities is empty", {where, text, "leave the comma out"});
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error("not a group of quantities", {where, name, suggest_name(name, names)});
    }
    chosen.push_back(name);
  }
  return chosen;
}

void require_possible(const Measurer& measurer, const std::vector<std::string>& groups) {
  for (const MetricGroup& group : metric_groups()) {
    const bool is_wanted = std::find(groups.begin(), groups.end(), group.name) != groups.end();
    if (is_wanted) measurer.require_possible(group.needs);
  }
}

std::vector<Quantity> measure_groups(Measurer& measurer, const std::vector<std::string>& groups) {
  std::vector<Quantity> quantities;
  for (const MetricGroup& group : metric_groups()) {
    const bool is_wanted = std::find(groups.begin(), groups.end(), group.name) != groups.end();
    if (!is_wanted || group.measure == nullptr) continue;
    for (Quantity& quantity : group.measure(measurer)) quantities.push_back(std::move(quantity));
  }
  return quantities;
}

std::vector<Quantity> to_quantities(const ControlVariateDiagnostics& diagnostics) {
  const std::vector<std::pair<std::string, Quantity::Detail>> details = {
      {"inner_steps", diagnostics.inner_steps}};
  return {{"control_variate_correlation", diagnostics.correlation, std::nullopt, details},
          {"control_variate_variance_ratio", diagnostics.variance_ratio, std::nullopt, details},
          {"control_variate_optimal_coefficient", diagnostics.optimal_coefficient, std::nullopt, details},
          {"snapshot_distance", diagnostics.snapshot_distance, std::nullopt, details}};
}

}  // namespace batchplus
