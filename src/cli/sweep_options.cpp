#include "cli/sweep_options.h"

#include <memory>

#include "cli/find_spec.h"
#include "cli/spec_options.h"
#include "cli/torch_commands.h"
#include "cli/usage.h"

namespace batchplus {
namespace {

/// Adds --slurm and what goes with it. Returns --slurm's own, for those that do not.
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

/// Adds --watch and what goes with it. Only who runs the runs can be watched meanwhile.
void add_watch_options(CLI::App& sweep, SweepCommand& command, const std::vector<CLI::Option*>& others) {
  CLI::Option* watch = sweep.add_flag(
      "--watch", command.is_watched,
      "serve a page that shows the runs while they run, and print its address on stderr; it ends with the "
      "sweep");
  for (CLI::Option* other : others) watch->excludes(other);
  for (CLI::Option* option : add_serve_options(sweep, command.page, "with --watch: ")) option->needs(watch);
}

}  // namespace

void add_sweep_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                       const TorchCommands& torch) {
  CLI::App* sweep = app.add_subcommand(
      "sweep", "all runs of a spec, in parallel; finished ones are skipped, interrupted ones resumed");
  auto command = std::make_shared<SweepCommand>();
  CLI::App* status = sweep->add_subcommand("status", "how far a sweep is");
  for (CLI::App* either : {sweep, status}) {
    add_global_options(*either, options);
    either->add_option("spec", command->request.spec,
                       "TOML file, or the name of a spec that comes with the program, like paper/table3");
    add_spec_options(*either, command->request);
    either->add_option("--out", command->request.directory,
                       "where its runs are (default: sweeps/SPEC-SCALE)");
  }
  sweep->add_option("--data-dir", command->request.data_directory, "where datasets are");
  CLI::Option* workers =
      sweep
          ->add_option(
              "--workers", command->workers,
              "processes, each on its own --threads cores (default: as many as fit, one thread each)")
          ->check(at_least(1));
  CLI::Option* dry_run =
      sweep->add_flag("--dry-run", command->is_dry_run, "list the runs and what they cost, and run none");
  sweep->add_flag("!--no-calibration", command->is_calibrated, "a dry run does not time this machine");
  CLI::Option* index = sweep
                           ->add_option("--index", command->index,
                                        "run this one alone, counted from 0 as --dry-run lists them")
                           ->check(at_least(0));
  sweep
      ->add_flag("--requeue", command->is_requeuing,
                 "with --index in a Slurm job: when a signal stops the run, queue the job again")
      ->needs(index);
  sweep->add_flag("--retry-failed", command->is_retrying, "try runs again that failed before");
  CLI::Option* slurm = add_slurm_options(*sweep, command->slurm)->excludes(workers)->excludes(index);
  add_watch_options(*sweep, *command, {dry_run, index, slurm});
  sweep->add_option("--worker-cores", command->worker_cores)->group("");
  sweep->callback([command, &options, &action, &torch, status] {
    command->is_status = status->parsed();
    action = [command, &options, &torch] {
      command->request.spec = find_spec(command->request.spec);
      return torch.sweep(*command, options);
    };
  });
}

}  // namespace batchplus
