// The promise that one config and one seed give one result: the weights_sha256 of short runs by own kernels,
// kept in tests/fixtures/golden_weights.json. CTest runs this with every instruction set that the machine
// has. Only when kernels/revision.h is raised on purpose is the file written again:
//   BATCHPLUS_WRITE_GOLDEN=1 build/tests/golden_weights_test

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "kernels/processor.h"
#include "kernels/revision.h"
#include "networks/registry.h"
#include "run/run.h"
#include "support/image_files.h"
#include "support/machine.h"
#include "support/scratch.h"
#include "support/threads.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace {

const std::string kFile = std::string(BATCHPLUS_SOURCE_DIR) + "/tests/fixtures/golden_weights.json";

struct GoldenRun {
  std::string name;
  RunConfig config;
};

/// "resnet20:width=4"
std::string small_form(const NetworkInfo& info) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : info.small) settings.push_back(key + "=" + std::to_string(value));
  return settings.empty() ? info.name : info.name + ":" + join(settings, ",");
}

/// Fifty small pictures with labels, which load in a moment.
const std::filesystem::path& data_directory() {
  static const testing::Scratch scratch;
  static const bool is_written = [] {
    testing::write_cifar10(scratch / "cifar-10-batches-bin", 10);
    return true;
  }();
  EXPECT_TRUE(is_written);
  return scratch.path();
}

/// Eight inner steps or so, with BatchNorm, dropout, augmentation, weight decay and a schedule.
RunConfig short_config(const NetworkInfo& info) {
  RunConfig config;
  config.dataset = "cifar10";
  config.data_dir = data_directory().string();
  config.train_limit = 40;
  config.test_limit = 8;
  config.inner_batch = 10;
  config.epochs = 2;
  config.lr = 0.05;
  config.augment = "standard";
  config.weight_decay = 5e-4;
  config.schedule = "cosine";
  config.seed = 3;
  config.model = small_form(info);
  if (info.dropout) config.dropout = 0.3;
  return config;
}

std::vector<GoldenRun> golden_runs() {
  std::vector<GoldenRun> runs;
  for (const NetworkInfo& info : networks()) {
    for (const char* method : {"sgd", "nag", "bp-svrg"}) {
      for (const char* kernels : {"fast", "direct"}) {
        RunConfig config = short_config(info);
        config.method = method;
        config.kernels = kernels;
        runs.push_back({config.model + ", " + method + ", " + kernels, config});
      }
    }
    if (!info.has_normalization) continue;
    RunConfig config = short_config(info);
    config.normalization = "group";
    runs.push_back({config.model + ", group, " + config.method + ", " + config.kernels, config});
  }
  return runs;
}

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
    write_file_atomically(kFile, Json{{"revision", kernels::kRevision}, {"weights", weights}}.dump(1) + "\n");
    FAIL() << "written: " << kFile;
  }
  const Json golden = Json::parse(read_file(kFile));
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
