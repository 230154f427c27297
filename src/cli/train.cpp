#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/config_options.h"
#include "experiment/training_run.h"
#include "util/error.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int kExitDiverged = 3;

struct TrainCommand {
  std::string config_file;
  ConfigOverrides overrides;
  bool has_tensorboard = false;
};

std::string optional_number(const Json& result, const char* key, const char* format) {
  if (!result.contains(key) || result[key].is_null()) return "-";
  return fmt::format(fmt::runtime(format), result[key].get<double>());
}

void print_result(const Json& result, const RunConfig& config) {
  fmt::print("{} on {}, {}: {} after {} epochs, {} inner steps, {} gradient evaluations, {}\n", config.method,
             config.dataset, config.model, result["status"].get<std::string>(), result["epochs"].dump(),
             result["inner_steps"].dump(), result["gradient_evaluations"].dump(),
             format_duration(result["seconds"].get<double>()));
  fmt::print("train loss {}  accuracy {}%\n", optional_number(result, "train_loss", "{:.4f}"),
             optional_number(result, "train_accuracy", "{:.2f}"));
  fmt::print("test  loss {}  accuracy {}% (best {}%)\n", optional_number(result, "test_loss", "{:.4f}"),
             optional_number(result, "test_accuracy", "{:.2f}"),
             optional_number(result, "best_test_accuracy", "{:.2f}"));
  fmt::print("weights sha256 {}\n", result["weights_sha256"].get<std::string>());
}

int run_train(const TrainCommand& command, const GlobalOptions& options) {
  RunConfig config;
  if (!command.config_file.empty()) read_config_file(config, command.config_file);
  command.overrides.apply(config);
  const RunOutcome outcome = run_training(config, {.device = parse_device(options.device),
                                                   .is_quiet = options.is_quiet,
                                                   .has_tensorboard = command.has_tensorboard});
  if (outcome.is_diverged) {
    fmt::print(
        stderr,
        "batchplus: diverged: a weight became infinite or NaN in inner step {} (outer step {}, lr {})\n"
        "  hint:  lower --lr, or begin with --warmup-epochs 1\n",
        outcome.result["inner_steps"].dump(), outcome.result["outer_steps"].dump(),
        outcome.result["lr"].dump());
  }
  if (options.is_json) {
    fmt::print("{}\n", outcome.result.dump());
  } else {
    print_result(outcome.result, config);
  }
  return outcome.is_diverged ? kExitDiverged : 0;
}

}  // namespace

void add_train_command(CLI::App& app, GlobalOptions& options, CommandAction& action) {
  CLI::App* train = app.add_subcommand("train", "train a network once");
  add_global_options(*train, options);
  auto command = std::make_shared<TrainCommand>();
  train->add_option("--config", command->config_file,
                    "TOML file with the options below as keys (lr, inner_batch, ...)");
  train->add_flag("--tensorboard", command->has_tensorboard,
                  "also write events for TensorBoard, into RUNDIR/tensorboard");
  add_config_options(*train, command->overrides, [](const ConfigField&) { return true; });
  train->callback([command, &options, &action] {
    action = [command, &options] { return run_train(*command, options); };
  });
}

}  // namespace batchplus
