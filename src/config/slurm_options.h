#pragma once

#include <string>
#include <vector>

namespace batchplus {

/// What a job asks of Slurm. Values are in sbatch's own words; an empty one is left to the cluster.
struct SlurmOptions {
  /// Minutes, or HOURS:MINUTES:SECONDS, or DAYS-HOURS.
  std::string time;
  /// Of a node, "8G".
  std::string memory;
  std::string partition;
  /// Other options of sbatch, whole: "--account=lab". They stand above everything else.
  std::vector<std::string> others;
  int threads = 4;
};

}  // namespace batchplus
