#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/catalog.h"

namespace batchplus {

/// An option or argument as pages and completions show it.
struct OptionEntry {
  /// "--method"; of an argument "spec".
  std::string name;
  std::string help;
  bool is_argument = false;
  bool takes_value = false;
  /// The words that it takes, as far as they can be listed.
  std::vector<std::string> values;
};

/// A command with its options and the commands below it.
struct CommandEntry {
  /// {"data", "fetch"}; empty: the program.
  std::vector<std::string> words;
  std::string help;
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;
};

/// The program's own tables of commands and options, without those that are hidden.
CommandEntry describe_commands(const CLI::App& app, const Catalog& catalog);

/// The command and all below it, each behind its parent.
std::vector<const CommandEntry*> all_commands(const CommandEntry& command);

}  // namespace batchplus
