#include "commands/sweep_slurm.h"

#include <fmt/format.h>

#include "util/text.h"

namespace batchplus {

void submit_sweep(const Sweep& sweep, const std::vector<std::string>& line, const SlurmOptions& slurm,
                  const GlobalOptions& options) {
  const SlurmSubmission submission = submit_to_slurm(sweep, line, slurm);
  const std::string script = slurm_script_of(sweep.directory).string();
  if (options.is_json) {
    const nlohmann::json json = {
        {"spec", sweep.spec.name}, {"scale", sweep.scale},    {"directory", sweep.directory.root.string()},
        {"script", script},        {"jobs", submission.jobs}, {"submitted", submission.runs}};
    fmt::print("{}\n", json.dump());
  } else if (submission.jobs.empty()) {
    fmt::print("{} ({}): every run has a result; nothing was submitted\n", sweep.spec.name, sweep.scale);
  } else {
    fmt::print("{} ({}): {} runs are submitted as {} {}; logs are in {}\n", sweep.spec.name, sweep.scale,
               submission.runs, submission.jobs.size() > 1 ? "jobs" : "job", join(submission.jobs, ", "),
               (sweep.directory.root / "logs").string());
  }
}

}  // namespace batchplus
