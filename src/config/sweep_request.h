#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/spec.h"

namespace batchplus {

/// Which runs of which spec, and where they are.
struct SweepRequest {
  std::string spec;
  /// Empty: the spec's only one, or "paper".
  std::string scale;
  /// Keys that are set for every run: "dataset=fashion-mnist".
  std::vector<std::string> settings;
  /// Empty: sweeps/SPEC-SCALE.
  std::string directory;
  /// Where datasets are; empty: where they usually are.
  std::string data_directory;
};

/// The scale that a request means.
std::string scale_of(const Spec& spec, const SweepRequest& request);

/// The directory of a request.
std::filesystem::path directory_of(const Spec& spec, const SweepRequest& request);

}  // namespace batchplus
