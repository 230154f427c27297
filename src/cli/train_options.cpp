#include "cli/train_options.h"

#include "cli/torch_commands.h"
#include "cli/usage.h"
#include "util/error.h"

namespace batchplus {
namespace {

void add_group_options(CLI::App& train, GroupOptions& options) {
  train
      .add_option("--processes", options.processes,
                  "train with so many processes on this machine, which share each batch out")
      ->check(at_least(1));
  train.add_option("--group", options.launcher,
                   "who started the processes: slurm (srun) or mpi (mpirun); torchrun is noticed by itself");
  train.add_option("--reduction", options.reduction,
                   "how processes add gradients up: exact gives the bits of one process, with 2, 4 or 8 of "
                   "them; fast (default: exact where it can be had)");
  train.add_option("--batch-norm", options.batch_norm,
                   "BatchNorm's moments: synchronized, those of the whole inner batch (default), or local, "
                   "those of each process's own samples");
  train
      .add_option("--group-timeout", options.timeout_seconds,
                  "seconds without an answer after which a process is given up")
      ->check(at_least(1));
  train
      .add_option("--restarts", options.restarts,
                  "with --processes: start them again so many times if one fails, from the last checkpoint")
      ->check(at_least(0));
}

}  // namespace

void add_train_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                       const TorchCommands& torch) {
  CLI::App* train = app.add_subcommand("train", "train a network once");
  add_global_options(*train, options);
  auto command = std::make_shared<TrainCommand>();
  train->add_option("--config", command->config_file,
                    "TOML file with the options below as keys (lr, inner_batch, ...)");
  train->add_flag("--tensorboard", command->has_tensorboard,
                  "also write events for TensorBoard, into RUNDIR/tensorboard");
  train->add_flag("--resume", command->is_resuming,
                  "go on with the run in --out, or begin it; its options need not be given again");
  train->add_option("--extend", command->extension,
                    "with --resume: give the run in --out so many epochs in all, or, if it has one, such a "
                    "budget; for a constant --schedule");
  add_group_options(*train, command->group);
  add_config_options(*train, command->overrides, [](const ConfigField&) { return true; });
  train->callback([command, &options, &action, &torch] {
    if (!command->extension.empty() && !command->is_resuming) {
      throw Error("only a run that is there can be extended",
                  {"--extend", command->extension, "add --resume"});
    }
    action = [command, &options, &torch] { return torch.train(*command, options); };
  });
}

}  // namespace batchplus
