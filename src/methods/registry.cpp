#include "methods/registry.h"

#include "methods/control_variate.h"
#include "methods/plain.h"
#include "methods/sam.h"
#include "methods/sarah.h"
#include "util/table.h"

namespace batchplus {
namespace {

std::unique_ptr<Estimator> plain(GradientOracle& oracle, const EstimatorOptions& /*options*/) {
  return std::make_unique<PlainEstimator>(oracle, PlainEstimator::Options{});
}

std::unique_ptr<Estimator> moving_statistics(GradientOracle& oracle, const EstimatorOptions& /*options*/) {
  return std::make_unique<PlainEstimator>(oracle,
                                          PlainEstimator::Options{.is_moving_statistics_first = true});
}

std::unique_ptr<Estimator> control_variate(GradientOracle& oracle, const EstimatorOptions& options) {
  return std::make_unique<ControlVariateEstimator>(oracle, options.coefficient, options.snapshot);
}

std::unique_ptr<Estimator> sam(GradientOracle& oracle, const EstimatorOptions& options) {
  return std::make_unique<SamEstimator>(oracle, options.radius);
}

std::unique_ptr<Estimator> sarah(GradientOracle& oracle, const EstimatorOptions& options) {
  return std::make_unique<SarahEstimator>(oracle, options.coefficient);
}

std::optional<double> as_it_is(double c) {
  return c;
}

/// Steps of SARAH by g_t(w_t) - g_t(w_{t-1}) + v_{t-1} are steps of SVRG, to the order of the modified loss.
std::optional<double> if_subtracted(double c) {
  return c == -1 ? std::optional(c) : std::nullopt;
}

}  // namespace

const std::vector<MethodInfo>& methods() {
  static constexpr const char* kOneAStep = "1 a step";
  static constexpr const char* kSnapshotCost = "2K-1 an outer batch of K steps (3K-2 recomputed)";
  static const std::vector<std::string> kSnapshotKeys = {"snapshot_gradients", "snapshot_memory"};
  static const std::vector<MethodInfo> table = {
      {
          .name = "sgd",
          .equation = "w -= lr g",
          .cost_words = kOneAStep,
          .make_estimator = plain,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "momentum",
          .equation = "m = 0.9 m + g; w -= lr m",
          .cost_words = kOneAStep,
          .update = "heavy-ball",
          .make_estimator = plain,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "nag",
          .equation = "m = 0.9 m + g; w -= lr (g + 0.9 m)",
          .cost_words = kOneAStep,
          .update = "nesterov",
          .make_estimator = plain,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "adam",
          .equation = "m, s = means of g, g^2; w -= lr m / (sqrt(s) + eps)",
          .cost_words = kOneAStep,
          .update = "adam",
          .make_estimator = plain,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "adamw",
          .equation = "as adam, and w -= lr decay w",
          .cost_words = kOneAStep,
          .update = "adamw",
          .make_estimator = plain,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "svrg",
          .equation = "w -= lr (g_t(w_t) - (g_t(w) - mu)), B = n",
          .cost_words = kSnapshotCost,
          .coefficient = "-1",
          .outer_batch = "all",
          .is_full_batch = true,
          .make_estimator = control_variate,
          .cost = ControlVariateEstimator::cost,
          .vectors = ControlVariateEstimator::vectors,
          .reads = kSnapshotKeys,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "psvrg",
          .equation = "w -= lr (g_t(w_t) + (g_t(w) - mu)), B = n",
          .cost_words = kSnapshotCost,
          .coefficient = "1",
          .outer_batch = "all",
          .is_full_batch = true,
          .make_estimator = control_variate,
          .cost = ControlVariateEstimator::cost,
          .vectors = ControlVariateEstimator::vectors,
          .reads = kSnapshotKeys,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "b-svrg",
          .equation = "w -= lr (g_t(w_t) - (g_t(w) - mu))",
          .cost_words = kSnapshotCost,
          .coefficient = "-1",
          .outer_batch = "2x",
          .make_estimator = control_variate,
          .cost = ControlVariateEstimator::cost,
          .vectors = ControlVariateEstimator::vectors,
          .reads = kSnapshotKeys,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "bp-svrg",
          .equation = "w -= lr (g_t(w_t) + (g_t(w) - mu))",
          .cost_words = kSnapshotCost,
          .coefficient = "1",
          .outer_batch = "2x",
          .make_estimator = control_variate,
          .cost = ControlVariateEstimator::cost,
          .vectors = ControlVariateEstimator::vectors,
          .reads = kSnapshotKeys,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "modified-sgd",
          .equation = "K forward passes at w move BatchNorm; then w -= lr g_t(w_t)",
          .cost_words = kOneAStep,
          .outer_batch = "2x",
          .make_estimator = moving_statistics,
          .cost = PlainEstimator::cost,
          .vectors = PlainEstimator::vectors,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "alpha-svrg",
          .equation = "w -= lr (g_t(w_t) - alpha (g_t(w) - mu))",
          .cost_words = kSnapshotCost,
          .coefficient = "linear:-0.5",
          .outer_batch = "2x",
          .make_estimator = control_variate,
          .cost = ControlVariateEstimator::cost,
          .vectors = ControlVariateEstimator::vectors,
          .reads = kSnapshotKeys,
          .modified_loss_coefficient = as_it_is,
      },
      {
          .name = "sam",
          .equation = "w -= lr g_t(w_t + rho g / ||g||)",
          .cost_words = "2 a step",
          .make_estimator = sam,
          .cost = SamEstimator::cost,
          .vectors = SamEstimator::vectors,
          .reads = {"radius"},
      },
      {
          .name = "sarah",
          .equation = "v_0 = mu; v_t = g_t(w_t) - (g_t(w_t-1) - v_t-1); w -= lr v",
          .cost_words = "3K-2 an outer batch of K steps",
          .coefficient = "-1",
          .outer_batch = "2x",
          .make_estimator = sarah,
          .cost = SarahEstimator::cost,
          .vectors = SarahEstimator::vectors,
          .modified_loss_coefficient = if_subtracted,
      },
  };
  return table;
}

const MethodInfo& find_method(std::string_view name, std::string_view where) {
  return find_row(methods(), name, "method", where);
}

OuterBatchShape MethodPlan::shape(int64_t outer_size, int64_t parameters) const {
  OuterBatchShape shape{.samples = outer_size, .inner_batch = sizes.inner_batch};
  shape.is_cached = Snapshot::keeps(estimator.snapshot, shape.inner_batches(), parameters);
  return shape;
}

int64_t MethodPlan::cost(int64_t outer_size, int64_t parameters) const {
  return info.cost(shape(outer_size, parameters));
}

int64_t MethodPlan::vectors(int64_t parameters) const {
  const int64_t kept_by_rule = find_update_rule(update.rule, "update_rule").vectors;
  return info.vectors(shape(sizes.outer_batch, parameters)) + kept_by_rule;
}

MethodPlan default_plan(const MethodInfo& info, Method::Sizes sizes) {
  MethodPlan plan{.info = info, .update = {.rule = info.update, .momentum = 0.9}, .sizes = sizes};
  if (!info.coefficient.empty()) {
    plan.estimator.coefficient = CoefficientSchedule::parse(info.coefficient, info.name);
  }
  return plan;
}

Method build_method(const MethodPlan& plan, GradientOracle& oracle) {
  const int64_t parameters = oracle.parameters().values().numel();
  return Method(plan.info.make_estimator(oracle, plan.estimator),
                find_update_rule(plan.update.rule, "update_rule").make(oracle.parameters(), plan.update),
                plan.sizes,
                [plan, parameters](int64_t outer_size) { return plan.cost(outer_size, parameters); });
}

}  // namespace batchplus
