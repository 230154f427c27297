#include "metrics/measurer.h"

#include <gtest/gtest.h>

#include <map>

#include "data/load_dataset.h"
#include "metrics/registry.h"
#include "networks/small_cnn.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

/// A small network on synthetic images.
struct Bench {
  Bench() : model(make_model()), parameters(*model.module) {}

  static Model make_model() {
    torch::manual_seed(1);
    return Model(std::make_shared<SmallCnn>(SmallCnn::Options{
        .channels = 3, .side = 32, .classes = 10, .width = 2, .hidden = 8, .dropout = 0.25}));
  }

  Measurer measurer(MeasureOptions options, MeasureProgress progress = nullptr) {
    return Measurer({model, parameters, views.train, views.test, dataset.normalization, torch::kCPU}, options,
                    std::move(progress));
  }
  std::map<std::string, Quantity> measure(const std::string& groups, MeasureOptions options,
                                          MeasureProgress progress = nullptr) {
    Measurer m = measurer(std::move(options), std::move(progress));
    std::map<std::string, Quantity> by_name;
    for (auto& q : measure_groups(m, parse_metric_groups(groups, MetricUse::kMeasure, "test")))
      by_name[q.name] = q;
    return by_name;
  }

  Dataset dataset = load_dataset(find_dataset("synthetic"), ".");
  DatasetViews views = make_views(dataset, {.train_limit = 60, .test_limit = 40});
  Model model;
  FlatParameters parameters;
};

double detail(const Quantity& quantity, const std::string& key) {
  for (const auto& [name, value] : quantity.details) {
    if (name == key) return std::get<double>(value);
  }
  ADD_FAILURE() << quantity.name << " has no " << key;
  return 0;
}

TEST(Measurer, GivesEveryQuantityOfTheTable) {
  Bench bench;
  const auto found =
      bench.measure("all", {.trace_draws = 2, .sharpness_draws = 2, .training = ImplicitRegularization{}});
  size_t count = 0;
  for (const MetricGroup& group : metric_groups()) {
    if (group.measure == nullptr) continue;
    for (const std::string& name : group.quantities) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_TRUE(std::isfinite(found.at(name).value)) << name;
      ++count;
    }
  }
  EXPECT_EQ(found.size(), count);
}

TEST(Measurer, QuantitiesFitTogether) {
  Bench bench;
  const auto found = bench.measure("all", {.trace_draws = 2, .eta = 0.03, .sharpness_draws = 2});
  const double mean = found.at("mean_squared_gradient_norm").value;
  const double full = found.at("squared_full_gradient_norm").value;
  EXPECT_DOUBLE_EQ(found.at("gradient_variance").value, mean - full);
  EXPECT_DOUBLE_EQ(found.at("gradient_noise_scale").value, (mean - full) / full);
  EXPECT_DOUBLE_EQ(found.at("sharpness_data_bound").value,
                   0.03 * 0.03 * std::abs(found.at("hessian_top").value) * mean);
  const Quantity& bound = found.at("bound_terms");
  EXPECT_DOUBLE_EQ(bound.value, (mean + full) / (2 * detail(bound, "mu")));
  EXPECT_DOUBLE_EQ(detail(bound, "measured_gap"), std::abs(found.at("loss_gap").value));

  const auto evaluate_on = [&](const ImageView& view) {
    return evaluate(bench.model, samples_of(view, bench.dataset.normalization));
  };
  const Evaluation train = evaluate_on(bench.views.train);
  const Evaluation test = evaluate_on(bench.views.test);
  EXPECT_EQ(found.at("loss_gap").value, test.loss - train.loss);
  EXPECT_EQ(found.at("accuracy_gap").value, train.accuracy - test.accuracy);
}

// F and the norms from a loop over samples with plain autograd.
TEST(Measurer, ImplicitPenaltiesAreThoseOfALoopOverSamples) {
  Bench bench;
  const ImplicitRegularization training{
      .learning_rate = 0.2, .coefficient = 3, .inner_batch = 5, .outer_batch = 20};
  const auto found = bench.measure("implicit-regularization", {.training = training});
  bench.model.module->eval();
  const Samples samples = samples_of(bench.views.train, bench.dataset.normalization);
  torch::Tensor mean = torch::zeros({bench.parameters.size()}, torch::kFloat64);
  double squares = 0;
  double loss = 0;
  const auto n = static_cast<double>(samples.size);
  for (int64_t i = 0; i < samples.size; ++i) {
    const Batch batch = samples.batch(i, 1);
    const torch::Tensor f = torch::cross_entropy_loss(bench.model.forward(batch.images), batch.labels);
    const torch::Tensor gradient = torch::zeros_like(bench.parameters.values());
    bench.parameters.gather(torch::autograd::grad({f}, bench.parameters.tensors()), gradient);
    mean += gradient.to(torch::kFloat64) / n;
    squares += gradient.to(torch::kFloat64).square().sum().item<double>() / n;
    loss += f.item<double>() / n;
  }
  const double full = mean.square().sum().item<double>();
  // K = 4: 1 + 3 * 3/4.
  const double noise = 0.2 / 4 * 3.25 * (squares - full) / 5;
  const double drift = 0.2 / 4 * full;
  // Sums of products in single precision.
  constexpr double kRounding = 1e-4;
  EXPECT_NEAR(found.at("noise_penalty").value, noise, kRounding * noise);
  EXPECT_NEAR(found.at("drift_penalty").value, drift, kRounding * drift);
  EXPECT_NEAR(detail(found.at("noise_penalty"), "share"), noise / loss, kRounding * noise / loss);
  EXPECT_NEAR(detail(found.at("drift_penalty"), "share"), drift / loss, kRounding * drift / loss);
}

TEST(Measurer, SaysWhyThereAreNoImplicitPenalties) {
  Bench bench;
  Measurer measurer = bench.measurer({.why_no_training = "there is a reason"});
  EXPECT_TRUE(measure_groups(measurer, {"implicit-regularization"}).empty());
  EXPECT_EQ(measurer.notes, std::vector<std::string>{"implicit-regularization: there is a reason"});
}

TEST(Measurer, SharpnessStaysInEvaluationModeWhateverTheNormsTake) {
  Bench bench;
  const MeasureOptions running{.eta = 0.03, .sharpness_draws = 2};
  MeasureOptions batch = running;
  batch.statistics = BatchNorm::Statistics::kBatch;
  const auto a = bench.measure("gradient-norms,sharpness", running);
  const auto b = bench.measure("gradient-norms,sharpness", batch);
  EXPECT_EQ(a.at("sharpness_data_bound").value, b.at("sharpness_data_bound").value);
  EXPECT_NE(a.at("mean_squared_gradient_norm").value, b.at("mean_squared_gradient_norm").value);
}

TEST(Measurer, GivenPlConstantReplacesTheEstimate) {
  Bench bench;
  const auto estimated = bench.measure("bound", {});
  const auto given = bench.measure("bound", {.pl_constant = 0.5});
  EXPECT_EQ(detail(given.at("bound_terms"), "mu"), 0.5);
  EXPECT_EQ(detail(estimated.at("bound_terms"), "mu"), detail(estimated.at("bound_terms"), "least_pl_ratio"));
}

TEST(Measurer, StandardErrorOfASampleCoversTheWholeSet) {
  Bench bench;
  const Quantity all = bench.measure("gradient-norms", {}).at("mean_squared_gradient_norm");
  const Quantity some = bench.measure("gradient-norms", {.samples = 30}).at("mean_squared_gradient_norm");
  EXPECT_FALSE(all.standard_error.has_value());
  ASSERT_TRUE(some.standard_error.has_value());
  EXPECT_NE(some.value, all.value);
  EXPECT_NEAR(some.value, all.value, 4 * *some.standard_error);
}

TEST(Measurer, MemoryLimitChangesChunksAndNothingElse) {
  Bench bench;
  const auto measure = [&](const MeasureOptions& options, int& chunks) {
    return bench.measure("gradient-norms,hessian", options,
                         [&](double, double, const std::string&) { ++chunks; });
  };
  int few = 0;
  int many = 0;
  const auto wide = measure({.trace_draws = 2}, few);
  const auto narrow = measure({.memory_bytes = 400 << 10, .trace_draws = 2}, many);
  EXPECT_GE(many, 4 * few);
  for (const auto& [name, quantity] : wide) {
    // Sums of products in single precision, added up in other pieces.
    EXPECT_NEAR(narrow.at(name).value, quantity.value, 1e-5 * std::abs(quantity.value)) << name;
  }
}

TEST(Measurer, RefusesWhatItCannotMeasure) {
  Bench bench;
  expect_error([&] { bench.measurer({.samples = 61}); },
               {"more samples than there are", "61", "there are 60"});
  expect_error([&] { bench.measure("hessian", {.eigenvalues = 100'000, .max_products = 200'000}); },
               {"fewer eigenvalues", "100000", "parameters"});
  expect_error([&] { bench.measure("hessian", {.eigenvalues = 5, .max_products = 4}); },
               {"too few products", "4", "at least 5"});
  expect_error([&] { bench.measure("hessian", {.memory_bytes = 1000}); },
               {"do not fit", "metrics_memory", "1000 B"});
  expect_error(
      [&] {
        bench.measure("gradient-norms",
                      {.statistics = BatchNorm::Statistics::kBatch, .memory_bytes = 100'000});
      },
      {"whole batch", "metrics_memory"});
  expect_error([&] { bench.measure("gradient-norm", {}); },
               {"not a group", "did you mean 'gradient-norms'?"});
  expect_error([&] { bench.measure("control-variate", {}); }, {"not a group", "control-variate"});
  bench.views.train.indices.clear();
  expect_error([&] { bench.measurer({}); }, {"no training samples"});
}

// A group that needs what the options do not allow is known to by its row, not after an epoch of training.
TEST(Measurer, KnowsBeforehandOfEveryGroupWhetherItIsPossible) {
  Bench bench;
  // With what each group needs to know.
  MeasureOptions batches_too_large{.statistics = BatchNorm::Statistics::kBatch, .memory_bytes = 100'000};
  MeasureOptions vectors_too_large{.memory_bytes = 1000};
  batches_too_large.training = vectors_too_large.training = ImplicitRegularization{.learning_rate = 0.1};
  for (const MeasureOptions& options : {batches_too_large, vectors_too_large}) {
    for (const MetricGroup& group : metric_groups()) {
      if (group.measure == nullptr) continue;
      Measurer measurer = bench.measurer(options);
      const auto is_error = [](const auto& action) {
        try {
          action();
        } catch (const Error&) {
          return true;
        }
        return false;
      };
      EXPECT_EQ(is_error([&] { require_possible(measurer, {group.name}); }),
                is_error([&] { group.measure(measurer); }))
          << group.name;
    }
  }
}

TEST(Measurer, RefusesWeightsThatAreNotFinite) {
  Bench bench;
  bench.parameters.values()[3] = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { bench.measurer({}); }, {"infinite or NaN", "conv1.weight"});
}

}  // namespace
}  // namespace batchplus
