#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/torch.h"

namespace batchplus {

/// Options of every command.
struct GlobalOptions {
  /// 0: as many as the process may use.
  int threads = 0;
  std::string device = "cpu";
  bool is_json = false;
  bool is_quiet = false;
};

/// What a command does after the options were read; returns the exit code.
using CommandAction = std::function<int()>;

/// Adds the options of every command to a subcommand.
void add_global_options(CLI::App& command, GlobalOptions& options);

/// cpu, cuda or cuda:I; an Error when this libtorch cannot use it.
torch::Device parse_device(const std::string& text);

/// Sets the number of threads.
void apply_threads(const GlobalOptions& options);

/// Each adds its subcommand, and sets `action` when that is the one that was called.
void add_train_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_eval_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_measure_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_models_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_methods_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_sweep_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_report_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_check_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_data_command(CLI::App& app, GlobalOptions& options, CommandAction& action);

}  // namespace batchplus
