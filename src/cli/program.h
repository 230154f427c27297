#pragma once

#include <functional>

#include "cli/catalog.h"
#include "cli/torch_commands.h"

namespace batchplus {

/// What the launcher and the core differ in.
struct ProgramParts {
  Catalog catalog;
  TorchCommands torch;
  /// Carries out what the command line asked for.
  std::function<int(const CommandAction& action, const GlobalOptions& options)> carry_out =
      [](const CommandAction& action, const GlobalOptions&) { return action(); };
};

/// Adds all commands and their options.
void build_app(CLI::App& app, GlobalOptions& options, CommandAction& action, const ProgramParts& parts);

/// The whole program: reads the command line, does what it says, and tells what goes wrong on standard error.
/// Returns the exit code.
int run_program(int argc, char** argv, const ProgramParts& parts);

}  // namespace batchplus
