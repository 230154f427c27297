#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/catalog.h"

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

/// Each adds its subcommand, and sets `action` when that is the one that was called. These commands need no
/// torch; those that do are in torch_commands.h.
void add_check_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_methods_command(CLI::App& app, GlobalOptions& options, CommandAction& action,
                         const Catalog& catalog);
void add_report_command(CLI::App& app, GlobalOptions& options, CommandAction& action);
void add_watch_command(CLI::App& app, GlobalOptions& options, CommandAction& action);

}  // namespace batchplus
