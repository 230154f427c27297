#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/run_config.h"

namespace batchplus {

/// Sets the fields that TOML text gives. Unknown keys and wrong types are Errors with line and column;
/// `where` names the text in them.
void parse_config(RunConfig& config, std::string_view text, const std::string& where);

/// The same for a file.
void read_config_file(RunConfig& config, const std::filesystem::path& path);

/// The config that a run directory holds. Keys that it lacks are younger than the run:
/// defaults_of_older_runs.
RunConfig parse_run_config(std::string_view text, const std::string& where);

/// The complete configuration as TOML.
std::string to_toml(const RunConfig& config);

/// Only what decides the result: equal texts mean equal runs. A field at its left_out_of_id is left
/// out: the text, and the id that is made from it, are what they were before there was the field.
std::string result_toml(const RunConfig& config);

/// A name for a config that depends on what it computes alone: not on paths, nor on where its results go.
std::string config_id(const RunConfig& config);

}  // namespace batchplus
