#include "sweep/slurm.h"

#include <fmt/format.h>

#include "util/error.h"
#include "util/file.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;

std::string submit_to_slurm(const Sweep& sweep, const std::vector<std::string>& command, int threads) {
  const fs::path script = sweep.directory.root / "sweep.slurm";
  std::vector<std::string> quoted;
  for (const std::string& argument : command) quoted.push_back(fmt::format("'{}'", argument));
  write_file_atomically(
      script,
      fmt::format("#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --array=0-{}\n#SBATCH --cpus-per-task={}\n"
                  "#SBATCH --output={}/logs/slurm-%a.log\n"
                  "exec {} \"$SLURM_ARRAY_TASK_ID\"\n",
                  sweep.spec.name, sweep.planned.size() - 1, threads,
                  fs::absolute(sweep.directory.root).string(), join(quoted, " ")));
  const ProcessResult submitted = run_process({"sbatch", script.string()}, fs::current_path());
  if (submitted.exit_code != 0) {
    throw Error(
        "the job array was written and not submitted",
        {"sbatch", submitted.output, fmt::format("submit it where Slurm is: sbatch {}", script.string())},
        Error::kFailure);
  }
  return submitted.output;
}

}  // namespace batchplus
