#include "cli/models_options.h"

#include <memory>

#include "cli/torch_commands.h"

namespace batchplus {

void add_models_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                        const TorchCommands& torch) {
  CLI::App* models = app.add_subcommand("models", "list the networks, or the layers of one");
  add_global_options(*models, options);
  auto command = std::make_shared<ModelsCommand>();
  CLI::App* show = models->add_subcommand("show", "the layers of a network");
  add_global_options(*show, options);
  show->add_option("NAME", command->name, "network, perhaps with settings: resnet20:depth=110")->required();
  show->add_option("--classes", command->classes, "number of classes")->check(CLI::Range(1, 100000));
  models->callback([command, &options, &action, &torch] {
    action = [command, &options, &torch] { return torch.models(*command, options); };
  });
}

}  // namespace batchplus
