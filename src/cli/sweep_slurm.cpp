#include "cli/sweep_slurm.h"

#include <fmt/format.h>

#include "util/text.h"

namespace batchplus {

CLI::Option* add_slurm_options(CLI::App& sweep, SlurmCommand& command) {
  CLI::Option* slurm =
      sweep.add_flag("--slurm", command.is_asked,
                     "submit the runs that have no result to Slurm: job arrays, one task a run, --threads "
                     "cores each (4); a run that meets its time limit is queued again and resumed");
  sweep.add_option("--time", command.options.time, "with --slurm: a job's time limit, as sbatch takes it")
      ->needs(slurm);
  sweep.add_option("--mem", command.options.memory, "with --slurm: memory of a job, as sbatch takes it")
      ->needs(slurm);
  sweep.add_option("--partition", command.options.partition, "with --slurm: where jobs run")->needs(slurm);
  sweep
      .add_option("--sbatch", command.options.others,
                  "with --slurm: any other option of sbatch, as in --sbatch=--account=lab; may be repeated")
      ->allow_extra_args(false)
      ->needs(slurm);
  return slurm;
}

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
