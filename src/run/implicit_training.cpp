#include "run/implicit_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace batchplus {

ImplicitTraining implicit_training(const MethodPlan& method, const DataPlan& data, double learning_rate,
                                   double progress) {
  const UpdateRuleInfo& rule = find_update_rule(method.update.rule, "update_rule");
  if (!rule.is_plain(method.update)) {
    return {.why_not = fmt::format(
                "the modified loss is that of plain steps, and the update rule is {}; docs/theory.md has "
                "what can be said of momentum",
                rule.name)};
  }
  const double asked = method.estimator.coefficient.value(progress);
  const auto of_theory = method.info.modified_loss_coefficient;
  const std::optional<double> coefficient = of_theory != nullptr ? of_theory(asked) : std::nullopt;
  if (!coefficient) {
    const std::string with =
        of_theory != nullptr ? fmt::format(" with coefficient {}", format_number(asked)) : "";
    return {.why_not = fmt::format("docs/theory.md has no factor for {}{}", method.info.name, with)};
  }
  return {.training = ImplicitRegularization{.learning_rate = learning_rate,
                                             .coefficient = *coefficient,
                                             .inner_batch = method.sizes.inner_batch,
                                             .outer_batch = method.sizes.outer_batch,
                                             .is_reshuffled = data.sampling != Sampling::kIndependent,
                                             .train_samples = data.train_samples}};
}

ImplicitTraining implicit_training_at(const RunPlan& plan, const TrainingPoint& point) {
  const TrainOptions& train = plan.train;
  double progress = 0;
  if (train.epochs) progress = point.epochs_done / static_cast<double>(*train.epochs);
  if (train.budget_sample_gradients) {
    progress = std::max(progress, static_cast<double>(point.sample_gradients) /
                                      static_cast<double>(*train.budget_sample_gradients));
  }
  const bool is_warmup = plan.warmup_method && point.epochs_done <= static_cast<double>(train.warmup_epochs);
  return implicit_training(is_warmup ? *plan.warmup_method : plan.method, plan.data, point.learning_rate,
                           progress);
}

}  // namespace batchplus
