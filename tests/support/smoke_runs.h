#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/program.h"
#include "support/scratch.h"

namespace batchplus::testing {

/// Every method on two small networks.
inline const std::string kSmokeSpec = BATCHPLUS_SOURCE_DIR "/specs/smoke/methods.toml";

/// Where the runs of kSmokeSpec are; made once for all tests of a program.
inline const std::filesystem::path& smoke_runs() {
  static const Scratch scratch;
  static const nlohmann::json swept =
      result_of(batchplus({"sweep", kSmokeSpec, "--out", scratch.path(), "--quiet", "--json"}));
  for (const char* other : {"diverged", "failed", "running", "waiting"})
    EXPECT_EQ(swept[other], 0) << swept.dump();
  return scratch.path();
}

}  // namespace batchplus::testing
