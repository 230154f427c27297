#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "networks/registry.h"
#include "run/run.h"
#include "support/image_files.h"
#include "support/scratch.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus::testing {

inline const std::string kGoldenFile =
    std::string(BATCHPLUS_SOURCE_DIR) + "/tests/fixtures/golden_weights.json";

struct GoldenRun {
  std::string name;
  RunConfig config;
};

/// "resnet20:width=4"
inline std::string small_form(const NetworkInfo& info) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : info.small) settings.push_back(key + "=" + std::to_string(value));
  return settings.empty() ? info.name : info.name + ":" + join(settings, ",");
}

/// Fifty small pictures with labels, which load in a moment.
inline const std::filesystem::path& data_directory() {
  static const Scratch scratch;
  static const bool is_written = [] {
    write_cifar10(scratch / "cifar-10-batches-bin", 10);
    return true;
  }();
  EXPECT_TRUE(is_written);
  return scratch.path();
}

/// Eight inner steps or so, with BatchNorm, dropout, augmentation, weight decay and a schedule.
inline RunConfig short_config(const NetworkInfo& info) {
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

/// The runs whose weights the file has.
inline std::vector<GoldenRun> golden_runs() {
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

}  // namespace batchplus::testing
