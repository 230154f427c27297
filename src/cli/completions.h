#pragma once

#include <string>

#include "cli/command_tree.h"

namespace batchplus {

/// A shell's file that completes commands, options, and the values of options that can be listed; other words
/// are completed as files.
std::string bash_completion(const CommandEntry& program);
std::string zsh_completion(const CommandEntry& program);
std::string fish_completion(const CommandEntry& program);

}  // namespace batchplus
