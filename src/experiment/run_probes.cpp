#include "experiment/run_probes.h"

#include <algorithm>

#include "experiment/measuring.h"

namespace batchplus {

RunProbes::RunProbes(const RunConfig& config, Measurer::Subject subject, Progress& progress)
    : groups_(parse_metric_groups(config.metrics, MetricUse::kTrain, "--metrics")),
      options_(measure_options(config)),
      subject_(subject),
      progress_(progress) {
  if (!is_empty()) make_measurer().require_possible(groups_);
}

Measurer RunProbes::make_measurer() {
  return Measurer(subject_, options_, [&](double done, double total, const std::string& label) {
    progress_.update(done, total, label);
  });
}

void RunProbes::watch(Method& method) {
  if (std::find(groups_.begin(), groups_.end(), kControlVariateGroup) == groups_.end()) return;
  method.set_step_observer([this](int64_t t, const EstimateTerms& estimate) {
    control_variate_.observe(t, estimate, subject_.parameters.values());
  });
}

std::vector<Quantity> RunProbes::measure(bool is_due) {
  std::vector<Quantity> quantities;
  if (is_due) {
    Measurer measurer = make_measurer();
    quantities = measure_groups(measurer, groups_);
    for (const std::string& note : measurer.notes) {
      if (told_.insert(note).second) progress_.print_line("note: " + note);
    }
  }
  if (const auto diagnostics = control_variate_.take()) {
    for (Quantity& quantity : to_quantities(*diagnostics)) quantities.push_back(std::move(quantity));
  }
  return quantities;
}

}  // namespace batchplus
