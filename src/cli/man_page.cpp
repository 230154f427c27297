#include "cli/man_page.h"

#include <fmt/format.h>

#include "util/text.h"
#include "util/version.h"

namespace batchplus {
namespace {

/// Text as man shows it: no line is a request, and a hyphen is a hyphen that can be copied.
std::string escape(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else if (letter == '\n') {
      escaped += "\n.br\n\\&";
    } else if ((letter == '.' || letter == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += fmt::format("\\&{}", letter);
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string describe(const OptionEntry& option) {
  const std::string value = option.takes_value && !option.is_argument ? " \\fIVALUE\\fR" : "";
  const char* font = option.is_argument ? "\\fI" : "\\fB";
  std::string text =
      fmt::format(".TP\n{}{}\\fR{}\n{}\n", font, escape(option.name), value, escape(option.help));
  // Help often lists them by itself.
  const bool is_listed =
      option.values.empty() || option.help.find(option.values.front()) != std::string::npos;
  if (!is_listed) text += fmt::format(".br\nOne of: {}.\n", escape(join(option.values, ", ")));
  return text;
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
0: done. 1: failure. 2: bad usage, config or input file. 3: the run diverged. 128 and a signal's number: interrupted after a
checkpoint.
.SH ENVIRONMENT
.TP
\fBBATCHPLUS_DATA\fR
where datasets are, unless \fB\-\-data\-dir\fR says it; without both \fI$XDG_CACHE_HOME/batchplus\fR,
or else \fI~/.cache/batchplus\fR
.TP
\fBBATCHPLUS_CPU\fR
avx512, avx2 or baseline: compute by fewer instructions than the processor has
.SH FILES
.TP
\fIPREFIX/share/batchplus/specs\fR
specs that \fBsweep\fR and \fBreport\fR find by name
)";

}  // namespace

std::string man_page(const CommandEntry& program) {
  std::string text = fmt::format(
      ".TH BATCHPLUS 1 \"\" \"BatchPlus {}\" \"User Commands\"\n"
      ".SH NAME\nbatchplus \\- train deep networks with SVRG\\-family optimisers and compare them\n"
      ".SH SYNOPSIS\n.B batchplus\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      kVersion, escape(program.help));
  for (const OptionEntry& option : program.options) text += describe(option);
  text += ".SH COMMANDS\n";
  for (const CommandEntry* command : all_commands(program)) {
    if (command->words.empty()) continue;
    text += fmt::format(".SS batchplus {}\n{}\n", escape(join(command->words, " ")), escape(command->help));
    for (const OptionEntry& option : command->options) text += describe(option);
  }
  return text + kEnd;
}

}  // namespace batchplus
