#include "run/run_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/config_fields.h"
#include "config/config_toml.h"
#include "run/unread_keys.h"
#include "support/expect_error.h"

namespace batchplus {
namespace {

using testing::expect_error;

constexpr int64_t kSamples = 1000;

DatasetInfo thousand_samples() {
  DatasetInfo info = find_dataset("synthetic");
  info.train_samples = kSamples;
  return info;
}

RunPlan plan_of(const RunConfig& config) {
  return resolve(config, thousand_samples());
}

/// A method with this outer batch, b = 128.
RunConfig with_outer_batch(const std::string& text) {
  RunConfig config;
  config.outer_batch = text;
  return config;
}

TEST(RunPlan, AnOuterBatchIsANumberAMultipleOrAll) {
  const auto outer = [](const std::string& text) {
    const RunPlan plan = plan_of(with_outer_batch(text));
    EXPECT_EQ(plan.complete.outer_batch, std::to_string(plan.method.sizes.outer_batch));
    return plan.method.sizes.outer_batch;
  };
  EXPECT_EQ(outer("256"), 256);
  EXPECT_EQ(outer("2x"), 256);
  EXPECT_EQ(outer("all"), kSamples);
  EXPECT_EQ(outer(""), 256) << "the method's own";
  expect_error([] { plan_of(with_outer_batch("100")); }, {"smaller than the inner batch", "100"});
  for (const char* large : {"8x", "999999999999999999x", "1001"}) {
    expect_error([&] { plan_of(with_outer_batch(large)); }, {"larger than the training set", large});
  }
  for (const char* wrong : {"x", "two", "0", "-5", "0x"}) {
    expect_error([&] { plan_of(with_outer_batch(wrong)); }, {"outer_batch"});
  }
}

TEST(RunPlan, CompletesTheConfigSoThatItResolvesToItself) {
  RunConfig config;
  config.warmup_epochs = 1;
  const RunConfig complete = plan_of(config).complete;
  EXPECT_EQ(complete.coefficient, "1");
  EXPECT_EQ(complete.update_rule, "plain");
  EXPECT_EQ(complete.augment, "none");
  EXPECT_EQ(complete.normalize, "0.5,0.5,0.5/0.25,0.25,0.25");
  EXPECT_EQ(complete.epochs, 10);
  EXPECT_EQ(complete.warmup_lr, config.lr);
  EXPECT_EQ(to_toml(plan_of(complete).complete), to_toml(complete));
}

TEST(RunPlan, RefusesAWordThatIsNoneOfTheChoices) {
  const auto refuse = [](std::string RunConfig::*member, const std::string& key) {
    RunConfig config;
    config.*member = std::string("atuo");
    expect_error([&] { plan_of(config); }, {key, "atuo"});
  };
  refuse(&RunConfig::augment, "augment");
  refuse(&RunConfig::sampling, "sampling");
  refuse(&RunConfig::kernels, "kernels");
  refuse(&RunConfig::normalization, "normalization");
  refuse(&RunConfig::snapshot_gradients, "snapshot_gradients");
  refuse(&RunConfig::metrics_batchnorm, "metrics_batchnorm");
  refuse(&RunConfig::update_rule, "update_rule");
  refuse(&RunConfig::method, "method");
  refuse(&RunConfig::warmup_method, "warmup_method");
  refuse(&RunConfig::model, "model");
  refuse(&RunConfig::metrics, "metrics");
  refuse(&RunConfig::schedule, "schedule");
  refuse(&RunConfig::checkpoint_every, "checkpoint_every");
  refuse(&RunConfig::normalize, "normalize");
  refuse(&RunConfig::snapshot_memory, "snapshot_memory");
  refuse(&RunConfig::metrics_memory, "metrics_memory");
  refuse(&RunConfig::coefficient, "coefficient");
}

TEST(RunPlan, UnderstandsEveryWordThatTheTableOfOptionsAllows) {
  size_t words = 0;
  for (const ConfigField& field : config_fields()) {
    for (const std::string& word : field.choices) {
      RunConfig config;
      field.set(config, word, field.key);
      EXPECT_NO_THROW(plan_of(config)) << field.key << " = " << word;
      ++words;
    }
  }
  EXPECT_GT(words, 10U);
}

TEST(RunPlan, AMethodWithoutAControlVariateHasNoCoefficient) {
  RunConfig config;
  config.method = "nag";
  config.coefficient = "0.5";
  expect_error([&] { plan_of(config); }, {"nag has no control variate", "coefficient"});
}

TEST(RunPlan, HasTheConstantsOfAdamWhereAMethodStepsByIt) {
  RunConfig config;
  EXPECT_FALSE(plan_of(config).complete.beta1.has_value());
  config.beta2 = 0.95;
  expect_error([&] { plan_of(config); }, {"plain has no beta2", "0.95", "adamw"});
  config.update_rule = "adam";
  const RunPlan plan = plan_of(config);
  EXPECT_EQ(plan.method.update.beta1, 0.9);
  EXPECT_EQ(plan.method.update.beta2, 0.95);
  EXPECT_EQ(plan.complete.beta1, 0.9);
  EXPECT_EQ(plan.complete.epsilon, 1e-8);
  EXPECT_EQ(to_toml(plan_of(plan.complete).complete), to_toml(plan.complete));
  config.update_rule = "";
  config.warmup_epochs = 1;
  config.warmup_method = "adamw";
  EXPECT_EQ(plan_of(config).warmup_method->update.beta2, 0.95);
}

TEST(RunPlan, AWarmUpHasTheDefaultsOfItsOwnMethod) {
  RunConfig config;
  config.coefficient = "-0.5";
  config.outer_batch = "3x";
  config.warmup_epochs = 2;
  config.warmup_method = "nag";
  const RunPlan plan = plan_of(config);
  EXPECT_EQ(plan.warmup_method->info.name, "nag");
  EXPECT_EQ(plan.warmup_method->sizes.outer_batch, 128);
  EXPECT_EQ(plan.warmup_method->update.rule, "nesterov");
  EXPECT_EQ(plan.method.sizes.outer_batch, 384);
  EXPECT_EQ(plan.method.estimator.coefficient.value(0), -0.5);
}

TEST(RunPlan, MasksNoSquareThatIsLargerThanTheImages) {
  RunConfig config;
  config.cutout = 32;
  EXPECT_EQ(plan_of(config).data.cutout, 32);
  config.cutout = 33;
  expect_error([&] { plan_of(config); }, {"larger than the images", "cutout", "33", "32"});
}

TEST(RunPlan, AWarmUpLeavesStepsOfTheMethod) {
  RunConfig config;
  config.method = "bp-svrg";
  config.epochs = 3;
  for (const int64_t epochs : {3, 4}) {
    config.warmup_epochs = epochs;
    expect_error([&] { plan_of(config); },
                 {"no step of bp-svrg", "warmup_epochs", std::to_string(epochs), "3 epochs"});
  }
  config.warmup_epochs = 2;
  EXPECT_NO_THROW(plan_of(config));
  // Of 1,000 samples sgd takes 7 batches of 128 a pass: 1,792 sample gradients. An outer batch of bp-svrg
  // with K = 2 takes 3 more: 2,176 in all.
  config.epochs.reset();
  config.budget_epochs = 2.175;
  expect_error([&] { plan_of(config); }, {"no step of bp-svrg", "1,792 of 2,175"});
  config.budget_epochs = 2.176;
  EXPECT_NO_THROW(plan_of(config));
}

TEST(UnreadKeys, WhatChangesNothingIsRefusedOnlyWhenItWasGivenByHand) {
  const auto refuse = [](const RunConfig& config, const std::string& key, const std::string& hint) {
    const RunPlan plan = plan_of(config);
    EXPECT_NO_THROW(require_read(plan, {"lr", "epochs", "seed"}));
    expect_error(
        [&] {
          require_read(plan, {"lr", key});
        },
        {fmt::format("with {} the option changes nothing", config.method), key, hint});
  };
  const auto accept = [](const RunConfig& config, const std::string& key) {
    EXPECT_NO_THROW(require_read(plan_of(config), {key})) << key;
  };
  RunConfig config;
  config.method = "bp-svrg";
  refuse(config, "momentum", "no step has momentum");
  config.update_rule = "adam";
  refuse(config, "momentum", "no step has momentum");
  config.update_rule.clear();
  refuse(config, "radius", "choose one of sam");
  refuse(config, "warmup_lr", "there is no warm-up");
  refuse(config, "warmup_method", "there is no warm-up");
  accept(config, "snapshot_gradients");
  accept(config, "snapshot_memory");
  config.update_rule = "nesterov";
  accept(config, "momentum");
  config.method = "sam";
  accept(config, "radius");
  refuse(config, "snapshot_gradients", "choose one of svrg");
  config.update_rule.clear();
  config.warmup_epochs = 1;
  config.warmup_method = "nag";
  accept(config, "warmup_lr");
  accept(config, "warmup_method");
  accept(config, "momentum");
}

TEST(RunPlan, TakesTheLimitsOffTheSamples) {
  RunConfig config;
  config.validation = 100;
  EXPECT_EQ(plan_of(config).data.train_samples, 900);
  config.train_limit = 500;
  EXPECT_EQ(plan_of(config).data.train_samples, 500);
  config.train_limit = 901;
  expect_error([&] { plan_of(config); },
               {"the validation set leaves fewer samples", "train_limit", "901", "900"});
}

}  // namespace
}  // namespace batchplus
