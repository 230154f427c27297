#include "run/probes.h"

#include <algorithm>

#include "run/implicit_training.h"
#include "util/clock.h"

namespace batchplus {

Probes::Probes(const RunPlan& plan, Measurer::Subject subject, Group* group, Progress& progress)
    : plan_(plan), subject_(subject), group_(group), progress_(progress) {
  if (!plan_.metric_groups.empty()) require_possible(make_measurer({}), plan_.metric_groups);
}

void Probes::after_epoch(const EpochEnd& end) {
  if (plan_.metric_groups.empty()) return;
  const Stopwatch stopwatch;
  end.record.metrics = measure(end.record, end.is_due(plan_.metrics_every));
  end.record.metrics_seconds += stopwatch.seconds();
}

Measurer Probes::make_measurer(const EpochRecord& record) {
  MeasureOptions options = plan_.measuring;
  const auto [training, why_not] = implicit_training_at(plan_, {.epochs_done = record.epochs_done,
                                                                .sample_gradients = record.sample_gradients,
                                                                .learning_rate = record.learning_rate});
  options.training = training;
  options.why_no_training = why_not;
  options.group = group_;
  return Measurer(subject_, options, [&](double done, double total, const std::string& label) {
    progress_.update(done, total, label);
  });
}

void Probes::watch(Method& method) {
  if (std::find(plan_.metric_groups.begin(), plan_.metric_groups.end(), kControlVariateGroup) ==
      plan_.metric_groups.end())
    return;
  method.set_before_step([this](int64_t t, const EstimateTerms& estimate) {
    control_variate_.add(t, estimate, subject_.parameters.values());
  });
}

std::vector<Quantity> Probes::measure(const EpochRecord& record, bool is_due) {
  std::vector<Quantity> quantities;
  if (is_due) {
    Measurer measurer = make_measurer(record);
    if (record.test) measurer.set_test_evaluation(*record.test);
    quantities = measure_groups(measurer, plan_.metric_groups);
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
