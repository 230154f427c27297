#include "cli/eval_options.h"

#include <memory>

#include "cli/torch_commands.h"

namespace batchplus {

void add_eval_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                      const TorchCommands& torch) {
  CLI::App* eval = app.add_subcommand("eval", "accuracy and loss of a weight file");
  add_global_options(*eval, options);
  auto command = std::make_shared<EvalCommand>();
  eval->add_option("--weights", command->weights, "PyTorch state dict, or a run's weights.pt")->required();
  eval->add_option("--split", command->split, "test or train")->check(CLI::IsMember({"test", "train"}));
  eval->add_option("--out", command->out, "folder for confusion.csv, confusion.png and eval.json");
  add_config_options(*eval, command->overrides, [](const ConfigField& field) {
    using Topic = ConfigField::Topic;
    return (field.topic == Topic::kData || field.topic == Topic::kNetwork) && !is_for_training_alone(field);
  });
  eval->callback([command, &options, &action, &torch] {
    action = [command, &options, &torch] { return torch.eval(*command, options); };
  });
}

}  // namespace batchplus
