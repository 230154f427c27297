#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace batchplus {
namespace {

/// "batchplus data fetch".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : fmt::format("{} {}", full_name(*parent), command.get_name());
}

/// The name that may have been meant, else all there are.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(word, names);
  return nearest ? fmt::format("did you mean {}?", *nearest) : "one of: " + join(names, ", ");
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* one : command.get_subcommands(nullptr)) names.push_back(one->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Error unknown_option(const CLI::App& called, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  const auto nearest = nearest_name(option, option_names(called));
  return Error("unknown option", {full_name(called), option,
                                  nearest ? fmt::format("did you mean {}?", *nearest)
                                          : fmt::format("'{} --help' lists them", full_name(called))});
}

/// An option with one value that was given several times; null when there is none.
const CLI::Option* repeated_option(const CLI::App& called) {
  for (const auto* option : called.get_options()) {
    if (option->get_items_expected_max() == 1 && option->count() > 1) return option;
  }
  return nullptr;
}

}  // namespace

const CLI::App& called_command(const CLI::App& app) {
  const CLI::App* called = &app;
  while (!called->get_subcommands().empty()) called = called->get_subcommands().front();
  return *called;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  const CLI::App& called = called_command(app);
  // CLI11 itself prints them from the last to the first.
  const std::vector<std::string> left_over = called.remaining();
  const auto option = std::find_if(left_over.begin(), left_over.end(),
                                   [](const std::string& word) { return word.starts_with("-"); });
  const bool lacks_command =
      called.get_require_subcommand_min() > 0 && dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr;
  if (lacks_command && left_over.empty()) {
    return Error("no command was given",
                 {full_name(called), "", "one of: " + join(command_names(called), ", ")});
  }
  if (lacks_command && option != left_over.begin()) {
    const std::string& word = left_over.front();
    return Error("unknown command", {full_name(called), word, suggestion(word, command_names(called))});
  }
  const bool has_extras = dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr;
  if ((has_extras || lacks_command) && option != left_over.end()) return unknown_option(called, *option);
  if (has_extras) {
    return Error(left_over.size() > 1 ? "unexpected arguments" : "unexpected argument",
                 {full_name(called), join(left_over, " "), "options begin with --; leave these out"});
  }
  const CLI::Option* repeated = repeated_option(called);
  if (repeated != nullptr && dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    return Error("the option is given more than once",
                 {repeated->get_name(), join(repeated->results(), ", "), "give it once"});
  }
  // CLI11 says "--lr: 1 required TEXT missing".
  const std::string what = problem.what();
  const bool lacks_value = what.ends_with("missing") && dynamic_cast<const CLI::ArgumentMismatch*>(&problem);
  if (lacks_value) return Error("the option needs a value", {what.substr(0, what.find(':')), "", ""});
  return Error(what);
}

std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool has_options = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    has_options = has_options && word != "--";
    const bool lacks_value = has_options && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (lacks_value) {
      words.insert(words.end(), {word.substr(0, word.size() - 1), ""});
    } else {
      words.push_back(word);
    }
  }
  std::reverse(words.begin(), words.end());
  return words;
}

void refuse_empty_values(CLI::App& app) {
  static const CLI::Validator kNotEmpty(
      [](const std::string& value) {
        return std::string(value.empty() ? "the value is empty; leave it out, or give it a value" : "");
      },
      "");
  for (CLI::Option* option : app.get_options()) {
    // Before what other checks have to say of it.
    if (option->get_items_expected_max() > 0) option->transform(kNotEmpty);
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

CLI::Validator at_least(int64_t least) {
  return CLI::Validator(
      [least](const std::string& value) -> std::string {
        try {
          if (parse_integer(value, "") >= least) return "";
        } catch (const Error& problem) {
          return fmt::format("{}: {}", value, problem.summary());
        }
        return fmt::format("is {}, and must be {} or more", value, least);
      },
      "");
}

}  // namespace batchplus
