#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "experiment/sweep.h"
#include "experiment/sweep_plan.h"

namespace batchplus {

/// Which runs of which spec, and where they are: options of `sweep` and `report`.
struct SpecOptions {
  std::string spec;
  /// Empty: the spec's only one, or "paper".
  std::string scale;
  std::vector<std::string> settings;
  std::string directory;
};

void add_spec_options(CLI::App& command, SpecOptions& options);

/// The same options for another process, without the directory.
std::vector<std::string> spec_arguments(const SpecOptions& options);

/// A spec with its runs at a scale.
struct Sweep {
  Spec spec;
  std::string scale;
  std::vector<PlannedRun> planned;
  SweepDirectory directory;

  std::vector<SpecRun> runs() const;
};

Sweep open_sweep(const SpecOptions& options);

}  // namespace batchplus
