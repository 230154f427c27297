#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace batchplus {

struct ProcessResult {
  int exit_code = 0;
  /// What it printed, standard output and standard error together.
  std::string output;
};

/// Runs a program found on PATH, without a shell, in `directory`, and waits for it.
/// Exit code 127 when there is no such program.
ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory);

}  // namespace batchplus
