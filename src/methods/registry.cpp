#include "methods/registry.h"

#include "methods/control_variate.h"
#include "methods/plain.h"
#include "methods/sam.h"
#include "util/table.h"

namespace batchplus {
namespace {

std::unique_ptr<Estimator> plain(GradientOracle& oracle, const EstimatorOptions& /*options*/) {
  return std::make_unique<PlainEstimator>(oracle, PlainEstimator::Options{});
}

std::unique_ptr<Estimator> observing(GradientOracle& oracle, const EstimatorOptions& /*options*/) {
  return std::make_unique<PlainEstimator>(oracle, PlainEstimator::Options{.is_observing_first = true});
}

std::unique_ptr<Estimator> control_variate(GradientOracle& oracle, const EstimatorOptions& options) {
  return std::make_unique<ControlVariateEstimator>(oracle, options.coefficient, options.snapshot);
}

std::unique_ptr<Estimator> sam(GradientOracle& oracle, const EstimatorOptions& options) {
  return std::make_unique<SamEstimator>(oracle, options.radius);
}

}  // namespace

const std::vector<MethodInfo>& methods() {
  static constexpr const char* kOneAStep = "1 a step";
  static constexpr const char* kSnapshotCost = "2K-1 an outer batch of K steps (3K-2 recomputed)";
  static constexpr UpdateKind kPlain = UpdateKind::kPlain;
  static const std::vector<MethodInfo> table = {
      {"sgd", "w -= lr g", kOneAStep, "", "1x", false, kPlain, plain, PlainEstimator::cost_of},
      {"momentum", "m = 0.9 m + g; w -= lr m", kOneAStep, "", "1x", false, UpdateKind::kHeavyBall, plain,
       PlainEstimator::cost_of},
      {"nag", "m = 0.9 m + g; w -= lr (g + 0.9 m)", kOneAStep, "", "1x", false, UpdateKind::kNesterov, plain,
       PlainEstimator::cost_of},
      {"svrg", "w -= lr (g_t(w_t) - (g_t(w) - mu)), B = n", kSnapshotCost, "-1", "all", true, kPlain,
       control_variate, ControlVariateEstimator::cost_of},
      {"psvrg", "w -= lr (g_t(w_t) + (g_t(w) - mu)), B = n", kSnapshotCost, "1", "all", true, kPlain,
       control_variate, ControlVariateEstimator::cost_of},
      {"b-svrg", "w -= lr (g_t(w_t) - (g_t(w) - mu))", kSnapshotCost, "-1", "2x", false, kPlain,
       control_variate, ControlVariateEstimator::cost_of},
      {"bp-svrg", "w -= lr (g_t(w_t) + (g_t(w) - mu))", kSnapshotCost, "1", "2x", false, kPlain,
       control_variate, ControlVariateEstimator::cost_of},
      {"modified-sgd", "K forward passes at w move BatchNorm; then w -= lr g_t(w_t)", kOneAStep, "", "2x",
       false, kPlain, observing, PlainEstimator::cost_of},
      {"alpha-svrg", "w -= lr (g_t(w_t) - alpha (g_t(w) - mu))", kSnapshotCost, "linear:-0.5", "2x", false,
       kPlain, control_variate, ControlVariateEstimator::cost_of},
      {"sam", "w -= lr g_t(w_t + rho g / ||g||)", "2 a step", "", "1x", false, kPlain, sam,
       SamEstimator::cost_of},
  };
  return table;
}

const MethodInfo& find_method(const std::string& name, const std::string& where) {
  return find_row(methods(), name, "method", where);
}

}  // namespace batchplus
