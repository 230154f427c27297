// The promise that one config and one seed give one result: the weights_sha256 of short runs by own kernels,
// kept in tests/fixtures/golden_weights.json. CTest runs this with every instruction set that the machine
// has. Only when kernels/revision.h is raised on purpose is the file written again:
//   BATCHPLUS_WRITE_GOLDEN=1 build/tests/golden_weights_test

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/processor.h"
#include "kernels/revision.h"
#include "support/golden_runs.h"
#include "support/machine.h"
#include "support/threads.h"

namespace batchplus {
namespace {

using testing::golden_runs;
using testing::GoldenRun;
using testing::kGoldenFile;
using testing::short_config;

std::string weights_of(const RunConfig& config, int threads) {
  const testing::WithThreads with(threads);
  const Json result = run_training(config, {.is_quiet = true}).result;
  EXPECT_TRUE(result["has_portable_bits"].get<bool>());
  return result["weights_sha256"].get<std::string>();
}

TEST(GoldenWeights, AreThoseOfEveryMachine) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  const std::vector<GoldenRun> runs = golden_runs();
  if (std::getenv("BATCHPLUS_WRITE_GOLDEN") != nullptr) {
    Json weights;
    for (const GoldenRun& run : runs) weights[run.name] = weights_of(run.config, 1);
    write_file_atomically(kGoldenFile,
                          Json{{"revision", kernels::kRevision}, {"weights", weights}}.dump(1) + "\n");
    FAIL() << "written: " << kGoldenFile;
  }
  const Json golden = Json::parse(read_file(kGoldenFile));
  ASSERT_EQ(golden["revision"], kernels::kRevision);
  ASSERT_EQ(golden["weights"].size(), runs.size());
  // Every run with another number of threads than the one before.
  constexpr int kThreads[] = {1, 2, 3, 8};
  size_t i = 0;
  for (const GoldenRun& run : runs) {
    const int threads = kThreads[i++ % std::size(kThreads)];
    EXPECT_EQ(golden["weights"][run.name], weights_of(run.config, threads))
        << run.name << " with " << threads << " threads and " << kernels::name_of(kernels::instruction_set());
  }
}

TEST(GoldenWeights, DoNotDependOnTheNumberOfThreads) {
  if (!testing::machine_has("avx2", kernels::are_available())) return;
  for (const NetworkInfo& info : networks()) {
    RunConfig config = short_config(info);
    config.metrics = "gradient-norms,gaps";
    const std::string one = weights_of(config, 1);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(weights_of(config, threads), one) << info.name << threads;
  }
}

}  // namespace
}  // namespace batchplus
