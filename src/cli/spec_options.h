#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "config/sweep_request.h"

namespace batchplus {

/// Options of `sweep` and `report` that say which runs of a spec.
void add_spec_options(CLI::App& command, SweepRequest& request);

/// The same options for another process, without the directories.
std::vector<std::string> spec_arguments(const SweepRequest& request);

}  // namespace batchplus
