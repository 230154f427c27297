#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "commands/commands.h"
#include "commands/environment.h"
#include "commands/train_group.h"
#include "config/config_fields.h"
#include "config/config_toml.h"
#include "datasets/registry.h"
#include "run/run.h"
#include "run/run_group.h"
#include "run/settled_values.h"
#include "util/error.h"
#include "util/file.h"
#include "util/standard_streams.h"
#include "util/stop_signal.h"
#include "util/text.h"

namespace batchplus {
namespace {

constexpr int kExitDiverged = 3;
constexpr int kExitSignalled = 128;

/// What was asked for, with the text of the config file: it is read once, for it may come through a pipe.
struct Asked : TrainCommand {
  std::string config_text;
};

std::string optional_number(const Json& result, const char* key, const char* format) {
  if (!result.contains(key) || result[key].is_null()) return "-";
  return fmt::format(fmt::runtime(format), result[key].get<double>());
}

/// 2.385 and 40.
std::string short_number(const Json& number) {
  const double value = number.get<double>();
  return value == std::floor(value) ? format_number(value) : fmt::format("{:.3f}", value);
}

void print_result(const Json& result, const RunConfig& config) {
  fmt::print("{} on {}, {}: {} after {} epoch{}, {} inner steps, {} gradient evaluations, {}\n",
             config.method, config.dataset, config.model, result["status"].get<std::string>(),
             short_number(result["epochs"]), result["epochs"] == 1 ? "" : "s", result["inner_steps"].dump(),
             result["gradient_evaluations"].dump(), format_duration(result["seconds"].get<double>()));
  // Only a run that is done has weights, and is evaluated with them.
  if (result["status"] != "done") return;
  fmt::print("train loss {}  accuracy {}%\n", optional_number(result, "train_loss", "{:.4f}"),
             optional_number(result, "train_accuracy", "{:.2f}"));
  fmt::print("test  loss {}  accuracy {}% (best {}%)\n", optional_number(result, "test_loss", "{:.4f}"),
             optional_number(result, "test_accuracy", "{:.2f}"),
             optional_number(result, "best_test_accuracy", "{:.2f}"));
  fmt::print("weights sha256 {}\n", result["weights_sha256"].get<std::string>());
}

/// Where there is no run, and nobody says what to train, a name was misspelt or the run ended before it
/// began.
void require_something_to_train(const Asked& command, const RunLayout& layout) {
  if (!command.config_file.empty() || command.overrides.describe_a_run()) return;
  if (layout.holds_run() || std::filesystem::exists(layout.config())) return;
  throw Error("there is no run to go on with",
              {"out", layout.root.string(),
               "name the directory of a run, or give the options of the one that is to begin there"});
}

/// What the options and the config file ask for.
RunConfig asked_config(const Asked& command) {
  RunConfig asked;
  parse_config(asked, command.config_text, command.config_file);
  const RunConfig file = asked;
  command.overrides.apply(asked);
  if (!command.config_file.empty()) {
    for (const std::string& note : note_settled_values(file, asked, command.overrides.keys()))
      tell("note: {}\n", note);
  }
  // The run may go on from another directory.
  asked.dataset = absolute_dataset(asked.dataset);
  for (std::string* path : {&asked.init, &asked.data_dir}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path).lexically_normal();
  }
  return asked;
}

/// The config that the options give. To resume, they stand above what the run itself says, so that --out
/// alone is enough and what is given besides can be compared.
RunConfig config_of(const Asked& command) {
  const RunConfig asked = asked_config(command);
  const RunLayout layout{asked.out};
  if (command.is_resuming && !asked.out.empty()) require_something_to_train(command, layout);
  if (!command.is_resuming || asked.out.empty() || !std::filesystem::exists(layout.config())) return asked;
  RunConfig config = layout.holds_run() ? defaults_of_older_runs() : RunConfig();
  read_config_file(config, layout.config());
  // A run directory may come from anywhere: it does not say where else to write.
  if (!config.save_weights.empty() && asked.save_weights.empty()) {
    tell("note: the run began with --save-weights {}: give it again to have the weights written there\n",
         config.save_weights);
  }
  config.save_weights.clear();
  const std::string dataset_of_run = config.dataset;
  parse_config(config, command.config_text, command.config_file);
  command.overrides.apply(config);
  if (config.dataset != dataset_of_run) config.dataset = absolute_dataset(config.dataset);
  config.out = asked.out;
  return config;
}

/// Puts the number of --extend where the run has its own.
void set_limit(RunConfig& config, const Asked& command) {
  for (const char* key : {"epochs", "budget_epochs"}) {
    if (!command.overrides.has(key)) continue;
    throw Error("--extend is the limit already", {option_of(key), "", "leave one of them out"});
  }
  const std::string key = config.budget_epochs && !config.epochs ? "budget_epochs" : "epochs";
  const auto& fields = config_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const ConfigField& row) { return row.key == key; });
  field->set(config, command.extension, "--extend");
}

void report_divergence(const Json& result, const RunConfig& config) {
  tell(
      "batchplus: diverged: a weight or the loss became infinite or NaN by inner step {} (outer step {}, "
      "lr {})\n",
      result["inner_steps"].dump(), result["outer_steps"].dump(), result["lr"].dump());
  const auto checkpoint = RunLayout{config.out}.checkpoint();
  if (!config.out.empty() && std::filesystem::exists(checkpoint))
    tell("  the last good weights are in {}\n", checkpoint.string());
  tell("  hint:  lower --lr, or begin with --warmup-epochs 1\n");
}

void report_interruption(const RunOutcome& outcome, const RunConfig& config) {
  tell("batchplus: interrupted by {}{} after {} epochs\n", signal_name(outcome.signal),
       outcome.signalled.empty() ? "" : fmt::format(" at {}", outcome.signalled),
       short_number(outcome.result["epochs"]));
  tell("  hint:  {}\n", config.out.empty()
                            ? "with --out the run could have gone on from here"
                            : fmt::format("go on with: batchplus train --resume --out {}", config.out));
}

int exit_code_of(const RunOutcome& outcome) {
  if (outcome.signal != 0) return kExitSignalled + outcome.signal;
  return outcome.is_diverged ? kExitDiverged : 0;
}

/// A process by itself, or one of a group.
int train_here(const Asked& command, const GlobalOptions& options, Group* group) {
  const bool is_first = group == nullptr || group->rank() == 0;
  RunConfig config = is_first ? config_of(command) : asked_config(command);
  if (group != nullptr) config = agree_on_config(*group, asked_config(command), config);
  const bool is_extending = !command.extension.empty();
  if (is_extending) set_limit(config, command);
  set_batch_norm(config, command.group, group != nullptr ? group->size() : 1);
  Sharing sharing;
  if (group != nullptr) sharing = {group, sums_of(command.group, group->size(), config.local_batch_norm > 0)};
  const RunOutcome outcome = run_training(config, {.device = device_to_compute_on(options),
                                                   .threads = options.threads,
                                                   .is_quiet = options.is_quiet || !is_first,
                                                   .has_tensorboard = command.has_tensorboard && is_first,
                                                   .is_resuming = command.is_resuming,
                                                   .is_extending = is_extending,
                                                   .given_keys = command.overrides.keys(),
                                                   .stop_signal = stop_signal,
                                                   .sharing = sharing});
  if (!is_first) return exit_code_of(outcome);
  if (outcome.is_diverged) report_divergence(outcome.result, config);
  if (outcome.signal != 0) report_interruption(outcome, config);
  if (options.is_json) {
    fmt::print("{}\n", outcome.result.dump());
  } else {
    print_result(outcome.result, config);
  }
  return exit_code_of(outcome);
}

/// Every process reads the config by itself, and a pipe can be read once.
void require_file_for_all(const std::string& config_file) {
  if (config_file.empty() || std::filesystem::is_regular_file(config_file)) return;
  throw Error("not a regular file, and several processes are to read it",
              {"config", config_file, "write it into a file first"});
}

int train_as_asked(const Asked& command, const GlobalOptions& options) {
  const std::optional<Membership> membership = membership_of(command.group);
  if (is_launching(command.group, membership)) {
    require_file_for_all(command.config_file);
    return launch(command.group, !asked_config(command).out.empty());
  }
  watch_stop_signals(SecondSignal::kExits);
  if (!membership || membership->size == 1) return train_here(command, options, nullptr);
  stop_with_parent();
  const std::unique_ptr<Group> group = join(command.group, *membership, options);
  try {
    return train_here(command, options, group.get());
  } catch (const Error& problem) {
    if (group->rank() == 0) throw;
    throw Error(fmt::format("{}: {}", group->name_of(group->rank()), problem.summary()), problem.details(),
                problem.exit_code());
  }
}

}  // namespace

int run_train(const TrainCommand& command, const GlobalOptions& options) {
  Asked asked{command, ""};
  if (!command.config_file.empty()) asked.config_text = read_text(command.config_file);
  return train_as_asked(asked, options);
}

}  // namespace batchplus
