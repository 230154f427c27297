#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "util/text.h"

namespace batchplus::testing {

/// What some tests need and script/bootstrap does not install, with what to say where it is missing.
inline const std::map<std::string, std::string>& machine_needs() {
  static const std::map<std::string, std::string> kNeeds = {
      {"avx2", "the processor has no AVX2"},
      {"cifar10", "run 'batchplus data fetch cifar10'"},
      {"hosts", "no network namespaces here: they need root and iproute2"},
      {"namespaces", "no mount namespaces here"},
      {"npm", "npm is not installed or does not reach its registry"},
      {"slurm", "no root, or no Slurm: run 'script/bootstrap slurm'"},
      {"samples", "set BATCHPLUS_SAMPLES to a folder with cifar-100-binary and svhn"},
  };
  return kNeeds;
}

/// $BATCHPLUS_REQUIRE: what this machine is meant to have, with spaces between. .ci/run sets it.
inline std::vector<std::string> required_of_machine() {
  const char* names = std::getenv("BATCHPLUS_REQUIRE");
  std::vector<std::string> required;
  for (const std::string& name : split(names == nullptr ? "" : names, ' ')) {
    if (!name.empty()) required.push_back(name);
  }
  return required;
}

inline bool is_required(const std::string& need) {
  const std::vector<std::string> required = required_of_machine();
  return std::find(required.begin(), required.end(), need) != required.end();
}

/// Whether the test can go on. Where it cannot it is marked as skipped, or as failed on a machine that is
/// meant to have what it needs; then it should return:
///   if (!machine_has("avx2", kernels::are_available())) return;
inline bool machine_has(const std::string& need, bool is_here) {
  const std::string& problem = machine_needs().at(need);
  if (is_here) return true;
  // Both end the function that they are in, and fixtures' SetUp then leaves out the test.
  [&] {
    if (is_required(need)) FAIL() << problem << ", but BATCHPLUS_REQUIRE names " << need;
    GTEST_SKIP() << problem;
  }();
  return false;
}

/// $BATCHPLUS_SAMPLES: a folder with some real records of CIFAR-100 and SVHN. Empty when they are not there.
inline std::filesystem::path samples_folder() {
  const char* given = std::getenv("BATCHPLUS_SAMPLES");
  if (given == nullptr) return {};
  const std::filesystem::path folder = given;
  const bool is_complete =
      std::filesystem::exists(folder / "cifar-100-binary") && std::filesystem::exists(folder / "svhn");
  return is_complete ? folder : std::filesystem::path();
}

}  // namespace batchplus::testing
