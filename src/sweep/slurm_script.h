#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/slurm_options.h"

namespace batchplus {

/// A job array: the run of a task is `first` and the task's number.
struct SlurmArray {
  int64_t first = 0;
  /// "0-7,9".
  std::string tasks;
  int64_t runs = 0;
};

/// Arrays with all of these runs, given by ascending index, when a task's number must be below `limit`
/// (Slurm's MaxArraySize).
std::vector<SlurmArray> split_into_arrays(const std::vector<int64_t>& indices, int64_t limit);

/// A text as one word of a shell, and of an #SBATCH line.
std::string quote(const std::string& text);

/// The script that `sbatch --array=TASKS SCRIPT FIRST` takes. `command` is that of a run, to which its index
/// is added as the last word; it is run in `directory`, and prints into `logs`.
std::string slurm_script(const std::string& name, const std::vector<std::string>& command,
                         const std::filesystem::path& directory, const std::filesystem::path& logs,
                         const SlurmOptions& options);

/// Whether slurm_script wrote it.
bool is_slurm_script(const std::string& text);

}  // namespace batchplus
