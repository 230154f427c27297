#include "cli/measure_options.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "cli/torch_commands.h"

namespace batchplus {
namespace {

std::string quantities_help(const Catalog& catalog) {
  std::string help = "groups separated by commas, or all:";
  for (const Catalog::MetricGroup& group : catalog.metric_groups) {
    if (group.is_of_weights) help += fmt::format("\n  {}: {}", group.name, group.help);
  }
  return help;
}

}  // namespace

void add_measure_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                         const TorchCommands& torch, const Catalog& catalog) {
  CLI::App* measure =
      app.add_subcommand("measure", "gradient norms, gaps, curvature, sharpness and bound of weights");
  add_global_options(*measure, options);
  auto command = std::make_shared<MeasureCommand>();
  measure->add_option("run,--run", command->run, "run directory: its config and its final weights");
  measure->add_option("--weights", command->weights, "PyTorch state dict to measure instead");
  measure->add_option("--quantities", command->quantities, quantities_help(catalog));
  measure->add_option("--out", command->out, "folder for measure.json, sample_norms.csv and layer_norms.csv");
  measure->add_flag("--per-layer", command->is_per_layer, "show each layer's part of the gradient norms");
  add_config_options(*measure, command->overrides, [](const ConfigField& field) {
    const bool is_for_training =
        field.key == "metrics" || field.key == "metrics_every" || is_for_training_alone(field);
    // What measuring needs to know of the training.
    static const std::set<std::string> kOthers = {"method", "coefficient", "update_rule", "momentum",
                                                  "lr",     "inner_batch", "outer_batch", "seed"};
    return (field.topic != ConfigField::Topic::kTraining || kOthers.contains(field.key)) && !is_for_training;
  });
  measure->callback([command, &options, &action, &torch] {
    action = [command, &options, &torch] { return torch.measure(*command, options); };
  });
}

}  // namespace batchplus
