#pragma once

#include <string>
#include <vector>

#include "store/run_directory.h"

namespace batchplus {

/// What is wrong with the results of a run that has ended, by the checksums in its status: metrics.jsonl, and
/// weights.pt of one that is done. Empty when nothing is.
std::vector<std::string> find_lost_results(const RunLayout& layout, const Json& status);

/// Whether the files of a run are as they were written.
struct RunCheck {
  /// "done", "running", ...; "unknown" when status.json does not say.
  std::string status = "unknown";
  /// Empty when every checksum is right.
  std::vector<std::string> problems = {};
};

/// Reads every file of a run that has a checksum, and checks it.
RunCheck check_run(const RunLayout& layout);

}  // namespace batchplus
