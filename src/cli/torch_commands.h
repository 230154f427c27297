#pragma once

#include <functional>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/eval_options.h"
#include "cli/measure_options.h"
#include "cli/models_options.h"
#include "cli/sweep_options.h"
#include "cli/train_options.h"

namespace batchplus {

/// What the commands do that compute with libtorch, once their options were read. The core carries them out
/// (src/commands); in the launcher each of them starts the core.
struct TorchCommands {
  template <class Options>
  using Action = std::function<int(const Options&, const GlobalOptions&)>;

  Action<TrainCommand> train;
  Action<EvalCommand> eval;
  Action<MeasureCommand> measure;
  Action<ModelsCommand> models;
  Action<SweepCommand> sweep;
  Action<DataCommand> data_show;
};

void add_train_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                       const TorchCommands& torch);
void add_eval_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                      const TorchCommands& torch);
void add_measure_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                         const TorchCommands& torch, const Catalog& catalog);
void add_models_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                        const TorchCommands& torch);
void add_sweep_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                       const TorchCommands& torch);
void add_data_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                      const TorchCommands& torch);

}  // namespace batchplus
