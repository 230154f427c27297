// What a sweep's plan announces is what its runs spend: budgets are made equal by these counts before
// anything runs.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/spec.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/smoke_runs.h"
#include "util/file.h"

namespace batchplus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::batchplus;
using testing::result_of;
using testing::Scratch;

/// Compares what every run of a sweep recorded with what the plan says; the number of runs.
size_t expect_planned_costs(const std::string& spec, const fs::path& sweep) {
  const json plan = result_of(batchplus({"sweep", spec, "--dry-run", "--no-calibration", "--json"}));
  for (const json& planned : plan["runs"]) {
    const fs::path run = sweep / "runs" / planned["id"].get<std::string>();
    const json spent = json::parse(read_file(run / "status.json"));
    EXPECT_EQ(spent["status"], "done");
    EXPECT_EQ(spent["sample_gradients"], planned["samples"]) << planned.dump();
    EXPECT_EQ(spent["gradient_evaluations"], planned["gradient_evaluations"]) << planned.dump();
  }
  return plan["runs"].size();
}

TEST(PlannedCosts, AreThoseOfEveryMethod) {
  EXPECT_EQ(expect_planned_costs(testing::kSmokeSpec, testing::smoke_runs()),
            expand(read_spec(testing::kSmokeSpec), "full").size());
}

// Nothing divides anything: 331 samples are ten inner batches of 32 and 11 samples; four outer batches of 70
// (two inner ones and 6 samples) and one of 51 (an inner one and 19).
constexpr const char* kRemainders = R"(title = "remainders"
[base]
dataset = "synthetic"
model = "mlp"
train_limit = 331
test_limit = 20
inner_batch = 32
epochs = 2
lr = 0.01
[[axis]]
name = "case"
)";

const std::vector<std::string> kCases = {
    R"(method = "sgd")",
    R"(method = "nag"
       outer_batch = "70")",
    R"(method = "sam"
       outer_batch = "70")",
    R"(method = "modified-sgd"
       outer_batch = "70")",
    R"(method = "svrg")",
    R"(method = "psvrg"
       snapshot_gradients = "recompute")",
    R"(method = "b-svrg"
       outer_batch = "100")",
    R"(method = "bp-svrg"
       outer_batch = "70")",
    R"(method = "bp-svrg"
       outer_batch = "70"
       snapshot_gradients = "recompute")",
    // Room for the one gradient of the last outer batch, but not for the two of the others.
    R"(method = "bp-svrg"
       outer_batch = "70"
       snapshot_memory = "2M")",
    R"(method = "bp-svrg"
       outer_batch = "70"
       sampling = "independent")",
    R"(method = "alpha-svrg"
       outer_batch = "70"
       sampling = "sequential"
       validation = 17)",
    R"(method = "momentum"
       budget_epochs = 1.37)",
    R"(method = "bp-svrg"
       outer_batch = "70"
       epochs = 9
       budget_epochs = 3.3
       warmup_epochs = 1
       warmup_method = "sam")",
    R"(method = "b-svrg"
       outer_batch = "70"
       epochs = 3
       warmup_epochs = 2
       warmup_method = "modified-sgd")",
};

TEST(PlannedCosts, AreThoseOfRunsWithRemaindersBudgetsAndWarmup) {
  const Scratch scratch;
  std::string spec = kRemainders;
  for (size_t i = 0; i < kCases.size(); ++i)
    spec += "[[axis.value]]\nlabel = \"" + std::to_string(i) + "\"\n" + kCases[i] + "\n";
  write_file_atomically(scratch / "remainders.toml", spec);
  result_of(batchplus({"sweep", scratch / "remainders.toml", "--out", scratch / "s", "--quiet", "--json"}));
  EXPECT_EQ(expect_planned_costs(scratch / "remainders.toml", scratch / "s"), kCases.size());
}

}  // namespace
}  // namespace batchplus
