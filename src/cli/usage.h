#pragma once

#include <CLI/CLI.hpp>

#include "util/error.h"

namespace batchplus {

/// The words of a command line from the last to the first, as CLI11 takes them. "--out=" is the option and an
/// empty value: CLI11 would take the next word for its value.
std::vector<std::string> words_of(int argc, char** argv);

/// The innermost command of those that the command line named.
const CLI::App& called_command(const CLI::App& app);

/// What is wrong with a command line: CLI11's complaint, in the words of an Error.
Error usage_error(const CLI::App& app, const CLI::ParseError& problem);

/// Every option and argument that takes a value, of all commands, refuses an empty one: it is most often a
/// variable of the shell that is not set.
void refuse_empty_values(CLI::App& app);

/// A whole number, this one or more.
CLI::Validator at_least(int64_t least);

}  // namespace batchplus
