// Minutes of training on the real CIFAR-10, where it is there ('batchplus data fetch cifar10').

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "datasets/find_files.h"
#include "networks/registry.h"
#include "support/machine.h"
#include "util/process.h"

namespace batchplus {
namespace {

using nlohmann::json;

bool has_cifar10() {
  return locate(find_dataset("cifar10"), data_directory("")).has_value();
}

json train(std::vector<std::string> options) {
  options.insert(options.begin(), {BATCHPLUS_PROGRAM, "train", "--dataset", "cifar10", "--quiet", "--json"});
  const ProcessResult process = run_process(options, "/");
  EXPECT_EQ(process.exit_code, 0) << process.output;
  return process.exit_code == 0 ? json::parse(process.output) : json::object();
}

TEST(RealTraining, BpSvrgTakesEveryNetworkThroughOuterStepsAtThePapersRate) {
  if (!testing::machine_has("cifar10", has_cifar10())) return;
  for (const NetworkInfo& info : networks()) {
    const json result = train({"--model", info.name, "--method", "bp-svrg", "--lr", "0.5", "--train-limit",
                               "256", "--test-limit", "100", "--inner-batch", "32", "--epochs", "1"});
    EXPECT_EQ(result["status"], "done") << info.name;
    EXPECT_EQ(result["outer_steps"], 4) << info.name;
  }
}

TEST(RealTraining, Resnet20LearnsFiveThousandImagesByHeart) {
  if (!testing::machine_has("cifar10", has_cifar10())) return;
  const json result =
      train({"--model", "resnet20", "--method", "nag", "--lr", "0.1", "--schedule", "cosine", "--train-limit",
             "5000", "--test-limit", "1000", "--augment", "none", "--epochs", "25", "--eval-every", "25"});
  EXPECT_GT(result["train_accuracy"].get<double>(), 95);
}

}  // namespace
}  // namespace batchplus
