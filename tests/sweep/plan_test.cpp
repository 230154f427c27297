#include "sweep/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "methods/registry.h"
#include "support/example_spec.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "util/file.h"

namespace batchplus {
namespace {

using testing::expect_error;
using testing::kSpec;
using testing::with;

TEST(SweepPlan, CountsEqualGradientsForMethodsOfEqualBudgets) {
  for (const PlannedRun& row : plan_sweep(parse_spec(kSpec, "s.toml"), "paper")) {
    const int64_t epochs = row.run.cell.at("network") == "small" ? 20 : 10;
    // 10,000 samples: 312 inner batches of 32 an epoch of NAG; 156 outer batches of three gradients for
    // BP-SVRG.
    EXPECT_EQ(row.sample_gradients, epochs * 156 * 3 * 32);
    EXPECT_EQ(row.gradient_evaluations, static_cast<double>(epochs * 156 * 3));
  }
}

TEST(SweepPlan, RefusesBudgetsThatShouldBeEqualAndAreNot) {
  // 1 against 1 epochs instead of 1 against 1.5.
  expect_error(
      [] { plan_sweep(parse_spec(with("epochs_times = 1.5", "epochs_times = 1"), "s.toml"), "paper"); },
      {"budgets that should be equal are not", "where: equal_budget, network=", "BP-SVRG", "NAG"});
}

TEST(SweepPlan, SaysWhereTheSpecIsWrong) {
  expect_error([] { plan_sweep(parse_spec(with("\"nag\"", "\"nga\""), "s.toml"), "paper"); },
               {"unknown method", "s.toml:26:3, method", "nga", "did you mean 'nag'?"});
  expect_error([] { plan_sweep(parse_spec(with("\"synthetic\"", "\"synthetc\""), "s.toml"), "paper"); },
               {"unknown dataset", "s.toml:5:1, dataset"});
  Spec spec = parse_spec(kSpec, "s.toml");
  set_everywhere(spec, "dataset=cifar");
  expect_error([&] { plan_sweep(spec, "paper"); }, {"unknown dataset", "where: set dataset"});
}

TEST(SweepPlan, CountsPicturesWithoutReadingThem) {
  const testing::Scratch scratch;
  for (const char* name : {"ant", "bee"}) {
    make_directories(scratch / name);
    for (int i = 0; i < 10; ++i)
      write_file_atomically(scratch / name / fmt::format("{}.png", i), "no picture");
  }
  Spec spec = parse_spec(
      "title = \"t\"\n[base]\nmodel = \"mlp\"\nmethod = \"sgd\"\ninner_batch = 4\nepochs = 1\n", "s.toml");
  set_everywhere(spec, "dataset=folder:" + scratch.path().string());
  const auto planned = plan_sweep(spec, "full");
  ASSERT_EQ(planned.size(), 1U);
  EXPECT_EQ(planned.front().sample_gradients, 16);
}

TEST(Specs, ThatComeWithTheProgramCanBePlanned) {
  for (const char* name : {"demo", "modified-sgd", "smoke/methods"}) {
    const Spec spec = read_spec(fmt::format("{}/specs/{}.toml", BATCHPLUS_SOURCE_DIR, name));
    for (const SpecScale& scale : spec.scales) EXPECT_FALSE(plan_sweep(spec, scale.name).empty()) << name;
  }
}

TEST(Specs, TheSmokeTestHasEveryMethodOfTheTable) {
  std::set<std::string> tried;
  for (const SpecRun& run : expand(read_spec(BATCHPLUS_SOURCE_DIR "/specs/smoke/methods.toml"), "full"))
    tried.insert(run.config.method);
  std::set<std::string> there;
  for (const MethodInfo& method : methods()) there.insert(method.name);
  EXPECT_EQ(tried, there);
}

}  // namespace
}  // namespace batchplus
