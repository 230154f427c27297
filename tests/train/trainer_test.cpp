#include "train/trainer.h"

#include <gtest/gtest.h>

#include "objective/evaluate.h"
#include "support/rig.h"

namespace batchplus {
namespace {

using testing::make_method;
using testing::Rig;

constexpr int64_t kSamples = 64;
constexpr int64_t kInner = 8;
const Normalization kNormalization{{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}};

ImageView random_view() {
  torch::manual_seed(5);
  ImageView view{
      {torch::randint(0, 256, {kSamples, 3, 8, 8}).to(torch::kUInt8), torch::randint(0, 10, {kSamples})}, {}};
  for (int64_t i = 0; i < kSamples; ++i) view.indices.push_back(i);
  return view;
}

/// A callback that makes up evaluations, keeps what it is told, and lets a test end the training.
struct Notes : TrainCallback {
  void after_outer_batch(const TrainState& state, int64_t expected) override {
    progress = {state.last.sample_gradients, expected};
  }
  void after_epoch(const EpochEnd& end) override {
    if (end.is_due(eval_every)) end.record.test = Evaluation{10, 1.0, 50.0 - ++evaluations};
    records.push_back(end.record);
  }
  bool goes_on(const TrainState& state) override { return !on_boundary || on_boundary(state); }

  int64_t eval_every = 1;
  int evaluations = 0;
  std::function<bool(const TrainState&)> on_boundary = nullptr;
  std::vector<EpochRecord> records;
  std::pair<int64_t, int64_t> progress;
};

struct Session : Notes {
  explicit Session(const std::string& method_name, int64_t outer = 16)
      : rig(testing::small_mlp()),
        source(random_view(), ImageTransform(kNormalization, false), {.seed = 1, .inner_size = kInner}),
        method(make_method(rig, method_name, {outer, kInner})),
        warmup(make_method(rig, "sgd", {kInner, kInner})) {}

  TrainResult run(const TrainOptions& options) {
    std::vector<TrainCallback*> callbacks = others;
    callbacks.push_back(this);
    return Trainer({batches, rig.oracle, rig.budget, method, &warmup}, options, callbacks).run();
  }

  Rig rig;
  BatchSource source;
  BatchPipeline batches{source};
  Method method;
  Method warmup;
  /// Called before the session's own notes.
  std::vector<TrainCallback*> others;
};

TEST(Trainer, RunsTheEpochsAndCountsWhatTheyCost) {
  Session session("bp-svrg");
  const TrainResult result = session.run({.learning_rate = 0.05, .epochs = 3});
  EXPECT_FALSE(result.is_diverged);
  EXPECT_EQ(result.last.epochs_done, 3);
  EXPECT_EQ(result.last.outer_steps, 3 * 4);
  EXPECT_EQ(result.last.inner_steps, 3 * 8);
  EXPECT_EQ(result.last.sample_gradients, 3 * 4 * 3 * kInner);
  EXPECT_EQ(session.records.size(), 3U);
  EXPECT_EQ(session.progress.first, session.progress.second) << "the announced total is what was spent";
  EXPECT_EQ(result.best_test_accuracy, 49);
}

TEST(Trainer, NeverExceedsABudgetAndComesWithinOneOuterBatchOfIt) {
  for (const char* method : {"nag", "bp-svrg", "sam"}) {
    for (const int64_t budget : {48, 100, 333, 1000}) {
      Session session(method);
      session.run({.learning_rate = 0.01, .budget_sample_gradients = budget});
      const int64_t cost = session.method.cost(16);
      EXPECT_LE(session.rig.budget.sample_gradients(), budget) << method;
      EXPECT_GT(session.rig.budget.sample_gradients() + cost, budget) << method;
      EXPECT_TRUE(session.records.back().test.has_value());
    }
  }
}

TEST(Trainer, BudgetThatEndsWithAnEpochReportsItOnce) {
  Session session("sgd", kInner);
  session.eval_every = 5;
  const TrainResult result = session.run({.learning_rate = 0.01, .budget_sample_gradients = 2 * kSamples});
  EXPECT_EQ(session.records.size(), 2U);
  EXPECT_EQ(result.last.epochs_done, 2);
  EXPECT_FALSE(session.records[0].test.has_value());
  EXPECT_TRUE(session.records[1].test.has_value());
}

TEST(Trainer, StopsAtWhicheverLimitComesFirst) {
  Session epochs_first("sgd", kInner);
  EXPECT_EQ(epochs_first.run({.learning_rate = 0.01, .epochs = 1, .budget_sample_gradients = 1000})
                .last.epochs_done,
            1);
  Session budget_first("sgd", kInner);
  EXPECT_EQ(
      budget_first.run({.learning_rate = 0.01, .epochs = 9, .budget_sample_gradients = 96}).last.epochs_done,
      1.5);
}

TEST(Trainer, FollowsTheScheduleByEpochsAndByBudget) {
  const Schedule schedule = Schedule::parse("step:0.5/10", "test");
  Session by_epochs("sgd", kInner);
  by_epochs.run({.learning_rate = 0.1, .schedule = schedule, .epochs = 4});
  EXPECT_EQ(by_epochs.records[1].learning_rate, 0.1);
  EXPECT_DOUBLE_EQ(by_epochs.records[2].learning_rate, 0.01);
  Session by_budget("bp-svrg");
  by_budget.run({.learning_rate = 0.1, .schedule = schedule, .budget_sample_gradients = 4 * 96});
  ASSERT_EQ(by_budget.records.size(), 4U);
  EXPECT_EQ(by_budget.records[1].learning_rate, 0.1);
  EXPECT_DOUBLE_EQ(by_budget.records[2].learning_rate, 0.01);
}

TEST(Trainer, WarmsUpWithTheOtherMethodAndItsLearningRate) {
  Session session("bp-svrg");
  session.run({.learning_rate = 0.05, .epochs = 3, .warmup_epochs = 1, .warmup_learning_rate = 0.02});
  EXPECT_EQ(session.records[0].learning_rate, 0.02);
  EXPECT_EQ(session.records[0].sample_gradients, kSamples);  // sgd
  EXPECT_EQ(session.records[1].learning_rate, 0.05);
  EXPECT_EQ(session.records[1].sample_gradients, kSamples + 3 * kSamples / 2);  // then bp-svrg
  EXPECT_EQ(session.progress.first, session.progress.second);
}

TEST(Trainer, EvaluatesWhenDueAndAtTheEnd) {
  Session session("sgd", kInner);
  session.eval_every = 2;
  session.run({.learning_rate = 0.01, .epochs = 5});
  std::vector<bool> evaluated;
  for (const auto& record : session.records) evaluated.push_back(record.test.has_value());
  EXPECT_EQ(evaluated, (std::vector<bool>{false, true, false, true, true}));
}

TEST(Trainer, CallsADivergedRunDivergedAtItsStep) {
  Session session("bp-svrg");
  const TrainResult result = session.run({.learning_rate = 1e30, .epochs = 5});
  EXPECT_TRUE(result.is_diverged);
  EXPECT_GE(result.last.inner_steps, 1);
  EXPECT_LT(result.last.inner_steps, 8);
}

// Logits that differ by more than a float can hold give an infinite loss, finite gradients and finite
// weights.
TEST(Trainer, CallsAnInfiniteLossDivergedWithinItsOuterBatch) {
  for (const char* method : {"sgd", "bp-svrg"}) {
    Session session(method, 16);
    {
      const torch::NoGradGuard no_grad;
      const torch::Tensor bias = session.rig.model.module->named_parameters()["fc3.bias"];
      bias.fill_(3e38).slice(0, 5).fill_(-3e38);
    }
    const TrainResult result = session.run({.learning_rate = 1e-6, .epochs = 1});
    EXPECT_TRUE(result.is_diverged) << method;
    EXPECT_EQ(result.last.outer_steps, 1) << method;
    EXPECT_TRUE(session.rig.weights().isfinite().all().item<bool>()) << "the weights alone would not tell";
  }
}

TEST(Trainer, EndsAtTheBoundaryWhereItIsAskedTo) {
  Session stopped("bp-svrg");
  int boundaries = 0;
  stopped.on_boundary = [&](const TrainState& state) {
    EXPECT_EQ(state.last.outer_steps, boundaries);
    return ++boundaries <= 2;
  };
  const TrainResult result = stopped.run({.learning_rate = 0.05, .epochs = 2});
  EXPECT_TRUE(result.is_interrupted);
  EXPECT_EQ(result.last.outer_steps, 2);
  EXPECT_EQ(result.last.epochs_done, 0.5);
  EXPECT_TRUE(stopped.records.empty());
}

TEST(Trainer, CallsCallbacksInTheirOrderAndAsksAllOfThemWhetherToGoOn) {
  struct Stopper : TrainCallback {
    bool goes_on(const TrainState& state) override { return state.last.outer_steps < 5; }
  } stopper;
  Session session("sgd", kInner);
  session.others = {&stopper};
  int64_t seen = 0;
  session.on_boundary = [&](const TrainState& state) {
    seen = state.last.outer_steps;
    return true;
  };
  const TrainResult result = session.run({.learning_rate = 0.01, .epochs = 2});
  EXPECT_TRUE(result.is_interrupted);
  EXPECT_EQ(seen, 5) << "the one behind the callback that ends the run is asked too";
  Session whole("sgd", kInner);
  struct Metric : TrainCallback {
    void after_epoch(const EpochEnd& end) override { end.record.metrics.push_back({"metric", 2, {}, {}}); }
  } metric;
  whole.others = {&metric};
  whole.run({.learning_rate = 0.01, .epochs = 1});
  ASSERT_EQ(whole.records[0].metrics.size(), 1U) << "what one adds, the next one sees";
  EXPECT_EQ(whole.records[0].metrics[0].name, "metric");
}

TEST(Trainer, SameSeedGivesTheSameBits) {
  Session a("bp-svrg");
  Session b("bp-svrg");
  a.run({.learning_rate = 0.05, .epochs = 2});
  b.run({.learning_rate = 0.05, .epochs = 2});
  EXPECT_TRUE(a.rig.weights().equal(b.rig.weights()));
}

TEST(Evaluate, EqualsALoopOverSamplesInEvaluationMode) {
  Rig rig(testing::small_cnn(0.5));
  rig.gradient(
      testing::random_outer_batch(8, 8).inner(0));  // running statistics that differ from the batch's
  const ImageView view = random_view();
  const Evaluation evaluation = evaluate(rig.model, samples_of(view, kNormalization));
  EXPECT_TRUE(rig.model.module->is_training()) << "the mode is as before";
  rig.model.module->eval();
  double loss = 0;
  int64_t correct = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const torch::Tensor image = (view.set.images[i].to(torch::kFloat32) / 255 - 0.5) / 0.25;
    const torch::Tensor logits = rig.model.forward(image.unsqueeze(0))[0].to(torch::kFloat64);
    const int64_t label = view.set.labels[i].item<int64_t>();
    loss += (logits.exp().sum().log() - logits[label]).item<double>();
    correct += logits.argmax().item<int64_t>() == label ? 1 : 0;
  }
  EXPECT_EQ(evaluation.samples, kSamples);
  EXPECT_NEAR(evaluation.loss, loss / kSamples, 1e-5);  // float forward passes
  EXPECT_DOUBLE_EQ(evaluation.accuracy, 100.0 * static_cast<double>(correct) / kSamples);
}

}  // namespace
}  // namespace batchplus
