#include "cli/completions.h"

#include <fmt/format.h>

#include "util/text.h"

namespace batchplus {
namespace {

/// "data fetch"
std::string name_of(const CommandEntry& command) {
  return join(command.words, " ");
}

/// What may stand next in a command: commands below it, its options, and values of its arguments.
std::string next_words(const CommandEntry& command) {
  std::vector<std::string> words;
  for (const CommandEntry& below : command.commands) words.push_back(below.words.back());
  for (const OptionEntry& option : command.options) {
    if (option.is_argument) {
      words.insert(words.end(), option.values.begin(), option.values.end());
    } else {
      words.push_back(option.name);
    }
  }
  return join(words, " ");
}

/// Rows of a shell's `case` that find the command in the words before the cursor.
std::string command_rows(const CommandEntry& program) {
  std::vector<std::string> names;
  for (const CommandEntry* command : all_commands(program)) {
    if (!command->words.empty()) names.push_back(fmt::format("'{}'", name_of(*command)));
  }
  return join(names, "|");
}

/// Rows of a shell's `case` over "COMMAND OPTION" with the words behind it; without any it is a file or a
/// number.
std::string value_rows(const CommandEntry& program) {
  std::string rows;
  for (const CommandEntry* command : all_commands(program)) {
    for (const OptionEntry& option : command->options) {
      if (option.is_argument || !option.takes_value) continue;
      rows += fmt::format("    '{} {}') choices='{}' ;;\n", name_of(*command), option.name,
                          join(option.values, " "));
    }
  }
  return rows;
}

std::string word_rows(const CommandEntry& program) {
  std::string rows;
  for (const CommandEntry* command : all_commands(program))
    rows += fmt::format("      '{}') choices='{}' ;;\n", name_of(*command), next_words(*command));
  return rows;
}

std::string fish_quote(std::string text) {
  std::string quoted = "'";
  for (const char letter : text.substr(0, text.find('\n'))) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

/// A fish condition: in this command, and in none below it.
std::string fish_condition(const CommandEntry& command) {
  if (command.words.empty()) return "__fish_use_subcommand";
  std::vector<std::string> conditions;
  for (const std::string& word : command.words) conditions.push_back("__fish_seen_subcommand_from " + word);
  for (const CommandEntry& below : command.commands)
    conditions.push_back("not __fish_seen_subcommand_from " + below.words.back());
  return join(conditions, "; and ");
}

}  // namespace

std::string bash_completion(const CommandEntry& program) {
  return fmt::format(R"(# Completion of batchplus for bash, made from the program's own tables.
_batchplus() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= choices= i next
  # --option=value is three words here.
  case = in
    "$before") before=${{COMP_WORDS[COMP_CWORD-2]}} ;;
    "$current") current= ;;
  esac
  for ((i = 1; i < COMP_CWORD; ++i)); do
    next=${{command:+$command }}${{COMP_WORDS[i]}}
    case $next in
      {}) command=$next ;;
    esac
  done
  case "$command $before" in
{}    *) case $command in
{}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}}
complete -o default -F _batchplus batchplus
)",
                     command_rows(program), value_rows(program), word_rows(program));
}

std::string zsh_completion(const CommandEntry& program) {
  return fmt::format(R"(#compdef batchplus
# Completion of batchplus for zsh, made from the program's own tables.
_batchplus() {{
  local before=${{words[CURRENT-1]}} command= choices= next i
  if [[ ${{words[CURRENT]}} == --*=* ]]; then
    before=${{words[CURRENT]%%=*}}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; ++i)); do
    next=${{command:+$command }}${{words[i]}}
    case $next in
      ({}) command=$next ;;
    esac
  done
  case "$command $before" in
{}    *) case $command in
{}    esac ;;
  esac
  compadd -- ${{=choices}}
  _files
}}
_batchplus "$@"
)",
                     command_rows(program), value_rows(program), word_rows(program));
}

std::string fish_completion(const CommandEntry& program) {
  std::string text = "# Completion of batchplus for fish, made from the program's own tables.\n";
  for (const CommandEntry* command : all_commands(program)) {
    const std::string when = fmt::format("complete -c batchplus -n '{}'", fish_condition(*command));
    for (const CommandEntry& below : command->commands)
      text += fmt::format("{} -f -a {} -d {}\n", when, below.words.back(), fish_quote(below.help));
    for (const OptionEntry& option : command->options) {
      if (option.is_argument) {
        if (!option.values.empty()) text += fmt::format("{} -a '{}'\n", when, join(option.values, " "));
        continue;
      }
      std::string value = option.takes_value ? " -r" : "";
      if (!option.values.empty()) value = fmt::format(" -x -a '{}'", join(option.values, " "));
      text += fmt::format("{} -l {}{} -d {}\n", when, option.name.substr(2), value, fish_quote(option.help));
    }
  }
  return text;
}

}  // namespace batchplus
