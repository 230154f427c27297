#include "report/quantities.h"

#include <algorithm>
#include <cmath>

#include "util/table.h"

namespace batchplus {

const std::vector<ReportedQuantity>& reported_quantities() {
  static const std::vector<ReportedQuantity> kQuantities = {
      {.name = "test_accuracy", .label = "test accuracy (%)", .digits = 2, .is_higher_better = true},
      {.name = "test_loss", .label = "test loss"},
      {.name = "validation_accuracy",
       .label = "validation accuracy (%)",
       .digits = 2,
       .is_higher_better = true},
      {.name = "validation_loss", .label = "validation loss"},
      {.name = "train_accuracy", .label = "training accuracy (%)", .digits = 2, .is_higher_better = true},
      {.name = "train_loss", .label = "training loss"},
      {.name = "running_loss", .label = "running training loss"},
      {.name = "loss_gap", .label = "loss gap"},
      {.name = "accuracy_gap", .label = "accuracy gap (points)", .digits = 2},
      {.name = "mean_squared_gradient_norm",
       .label = "E‖∇f_i‖²",
       .digits = 2,
       .is_log = true,
       .is_metric = true},
      {.name = "squared_full_gradient_norm",
       .label = "‖∇F‖²",
       .digits = 2,
       .is_log = true,
       .is_metric = true},
      {.name = "gradient_variance", .label = "gradient variance", .is_log = true, .is_metric = true},
      {.name = "gradient_noise_scale", .label = "gradient noise scale", .is_log = true, .is_metric = true},
      {.name = "hessian_top", .label = "largest Hessian eigenvalue", .is_log = true, .is_metric = true},
      {.name = "hessian_trace", .label = "Hessian trace", .is_log = true, .is_metric = true},
      {.name = "sharpness_gaussian", .label = "sharpness S_σ", .is_log = true, .is_metric = true},
      {.name = "sharpness_data", .label = "sharpness S_φ", .is_log = true, .is_metric = true},
      {.name = "sharpness_data_second_order",
       .label = "S_φ, second order",
       .is_log = true,
       .is_metric = true},
      {.name = "sharpness_data_bound", .label = "bound of S_φ", .is_log = true, .is_metric = true},
      {.name = "bound_terms", .label = "generalisation bound", .is_log = true, .is_metric = true},
      {.name = "noise_penalty",
       .label = "implicit penalty of gradient noise",
       .is_log = true,
       .is_metric = true},
      {.name = "drift_penalty",
       .label = "implicit penalty of the gradient",
       .is_log = true,
       .is_metric = true},
      {.name = "control_variate_correlation",
       .label = "control-variate correlation",
       .has_best = false,
       .is_judged = false},
      {.name = "control_variate_variance_ratio", .label = "control-variate variance ratio"},
      {.name = "control_variate_optimal_coefficient",
       .label = "optimal coefficient",
       .has_best = false,
       .is_judged = false},
      {.name = "snapshot_distance",
       .label = "distance from the snapshot",
       .has_best = false,
       .is_judged = false},
      {.name = "lr", .label = "learning rate", .has_best = false, .is_judged = false},
      {.name = "gradient_evaluations", .label = "gradient evaluations", .digits = 0, .has_best = false},
      {.name = "sample_gradients", .label = "sample gradients", .digits = 0, .has_best = false},
      {.name = "seconds", .label = "training time (s)", .digits = 1, .has_best = false},
  };
  return kQuantities;
}

const ReportedQuantity& find_quantity(std::string_view name, std::string_view where) {
  return find_row(reported_quantities(), name, "quantity", where);
}

void require_quantities(const ReportOptions& options, const std::string& where) {
  for (const std::string& name : options.tables) find_quantity(name, where + ", [report] tables");
  for (const std::string& name : options.curves) find_quantity(name, where + ", [report] curves");
}

std::optional<double> value_of(const Json& record, const std::string& name) {
  const auto found = record.find(name);
  if (found == record.end()) return std::nullopt;
  const Json& number = found->is_object() && found->contains("value") ? (*found)["value"] : *found;
  if (!number.is_number()) return std::nullopt;
  const auto value = number.get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> evaluated_train_loss(const Json& record) {
  const auto gap = record.find("loss_gap");
  return gap != record.end() && gap->is_object() ? value_of(*gap, "train_loss") : std::nullopt;
}

std::optional<double> recorded_value(const Json& record, const std::string& name) {
  if (const auto value = value_of(record, name)) return value;
  if (name == "train_loss") return evaluated_train_loss(record);
  const auto gap = record.find("accuracy_gap");
  const bool is_beside = name == "train_accuracy" && gap != record.end() && gap->is_object();
  return is_beside ? value_of(*gap, name) : std::nullopt;
}

std::optional<std::string> statistics_of(const Json& record, const std::string& name) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_object() || !found->contains("batchnorm")) return std::nullopt;
  const Json& statistics = (*found)["batchnorm"];
  return statistics.is_string() ? std::optional(statistics.get<std::string>()) : std::nullopt;
}

std::optional<double> final_value(const StoredRun& run, const std::string& name) {
  const auto difference = [&](const char* a, const char* b) -> std::optional<double> {
    const auto first = value_of(run.status, a);
    const auto second = value_of(run.status, b);
    return first && second ? std::optional(*first - *second) : std::nullopt;
  };
  // Every run ends with an evaluation of all samples; a measured gap may be of some.
  std::optional<double> gap;
  if (name == "loss_gap") gap = difference("test_loss", "train_loss");
  if (name == "accuracy_gap") gap = difference("train_accuracy", "test_accuracy");
  return gap ? gap : value_of(run.status, name);
}

std::optional<double> best_value(const StoredRun& run, const ReportedQuantity& quantity) {
  std::optional<double> best;
  if (!quantity.has_best) return best;
  for (const Json& record : run.metrics) {
    const auto value = value_of(record, quantity.name);
    if (!value) continue;
    const bool is_better = !best || (quantity.is_higher_better ? *value > *best : *value < *best);
    if (is_better) best = value;
  }
  return best;
}

}  // namespace batchplus
